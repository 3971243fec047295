// Numbers, sizes and times as text.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const twoDigits = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export const count = (value) => whole.format(value);

/// 21.4 MB; units of 1,000.
export function bytes(value) {
  if (value === null || value === undefined) return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let index = 0;
  while (value >= 1000 && index < units.length - 1) {
    value /= 1000;
    ++index;
  }
  return `${(value >= 100 || index === 0 ? whole : oneDigit).format(value)} ${units[index]}`;
}

/// 0.21 s, 4.2 s, 2 min 5 s.
export function duration(ms) {
  const seconds = ms / 1000;
  if (seconds < 1) return `${twoDigits.format(seconds)} s`;
  if (seconds < 60) return `${oneDigit.format(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${whole.format(Math.floor(seconds % 60))} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const rate = (value) => (value >= 100 ? whole : oneDigit).format(value);

/// 7.6 B for 7,615,616,512 parameters.
export function parameters(value) {
  if (!value) return "";
  return value >= 1e9 ? `${oneDigit.format(value / 1e9)} B` : `${oneDigit.format(value / 1e6)} M`;
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function day(ms) {
  return new Date(ms).toLocaleDateString([], { year: "numeric", month: "short", day: "numeric" });
}
