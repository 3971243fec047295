// A tool that the embedded model can call, and its result.

export const QUESTION = 'What is the weather in Lisbon?';
export const NAME = 'get_weather';
export const DESCRIPTION = 'Get the current weather of a city';

export const WEATHER = {
  type: 'function',
  function: {
    name: NAME,
    description: DESCRIPTION,
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

export const RESULT = { condition: 'sunny', temperature: 21 };
