// Parses server-sent events from the bytes of a stream. Source: HTML Living Standard, 9.2.

/**
 * The events that are whole: {event, data, comments}, `data` null where the block has none.
 * @param {string} text
 */
export function eventsOf(text) {
  const blocks = text.split('\n\n');
  blocks.pop(); // empty, or cut off
  return blocks.map(eventOf);
}

function eventOf(block) {
  const event = { event: 'message', data: null, comments: [] };
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const [name, value] = colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (name === '') event.comments.push(value);
    else if (name === 'data') event.data = event.data === null ? value : `${event.data}\n${value}`;
    else if (name === 'event') event.event = value;
    else if (name !== 'id' && name !== 'retry') throw new Error(`no field of an event: ${line}`);
  }
  return event;
}
