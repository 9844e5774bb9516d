/** JSON in which a number keeps all of its digits: `JSON.parse` alone rounds those that a double cannot hold. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json | undefined };

// Node has these since version 21; TypeScript does not declare them yet.
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
    rawJSON(source: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

const DOUBLE_DIGITS = 15; // so many significant ones always come back as they were

function isExact(source: string, value: number): boolean {
  const digits = source.replace(/e.*/i, "").replace(/\D/g, "").replace(/^0+/, "");
  return digits.length <= DOUBLE_DIGITS && Number.isFinite(value);
}

/** A value for `JSON.stringify`; a number with more digits than a double has becomes an object that stands for it. */
export function parse(text: string): unknown {
  return JSON.parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined && !isExact(source, value) ? JSON.rawJSON(source) : value,
  );
}
