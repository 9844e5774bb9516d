/** Days and times of a zone, on `Intl` alone. An instant is in milliseconds since 1970, as in `Date`. */

export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;

const offsets = new Map<string, Intl.DateTimeFormat>();

export function isZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** How far the zone's clocks are ahead of UTC at an instant, in milliseconds. */
function offsetAt(instant: number, zone: string): number {
  let format = offsets.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
    offsets.set(zone, format);
  }
  const name = format.formatToParts(instant).find((part) => part.type === "timeZoneName")?.value ?? "";
  const [, sign = "+", hours = "0", minutes = "0"] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE;
}

/** The instant at which the zone's clocks show `wall`, a date-time without offset. */
export function instantOf(wall: string, zone: string): number {
  const shown = Date.parse(`${wall}Z`);
  const near = shown - offsetAt(shown, zone);
  return shown - offsetAt(near, zone);
}

/** A date-time as the zone's clocks show it, with their offset. */
export function inZone(instant: number, zone: string): string {
  const offset = offsetAt(instant, zone);
  const minutes = Math.abs(offset) / MINUTE;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${new Date(instant + offset).toISOString().slice(0, 19)}${offset < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** Days from the first to the last, both of them among these, as `2024-01-15`. */
export function* days(first: string, last: string): Generator<string> {
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY) yield new Date(at).toISOString().slice(0, 10);
}
