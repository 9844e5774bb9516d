/**
 * The tools of Lumen Sun: what the vendor sells, and the four probes of `docs/bindings.md` beside it.
 *
 * A tool is an async function of project and arguments. It returns a JSON value or throws, and knows nothing of UTP.
 */

import type { Json, JsonObject } from "./json.ts";

export type Tool = (project: string, args: JsonObject) => Promise<Json>;

/** A failure with a code of UTP §5 and a detail object; any other exception is an `internal_error`. */
export class ToolError extends Error {
  readonly code: string;
  readonly detail: JsonObject;

  constructor(code: string, message: string, detail: JsonObject = {}) {
    super(message);
    this.code = code;
    this.detail = detail;
  }
}

const DAY_MS = 86_400_000;
const MAX_LATITUDE = 65; // beyond it the sun does not set every day
const OBLIQUITY = radians(23.44);
const counts = new Map<string, number>();

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

function number(args: JsonObject, field: string, limit: number): number {
  const value = args[field];
  if (typeof value !== "number" || Math.abs(value) > limit) {
    throw new ToolError("bad_request", `\`${field}\` must be a number from -${limit} to ${limit}`, { field });
  }
  return value;
}

function midnight(args: JsonObject): Date {
  const day = args["date"];
  const at = new Date(typeof day === "string" && /^\d{4}-\d{2}-\d{2}$/.test(day) ? `${day}T00:00:00Z` : NaN);
  if (Number.isNaN(at.valueOf())) {
    throw new ToolError("bad_request", "`date` must be a day such as 2026-06-21", { field: "date" });
  }
  return at;
}

/** Sunrise and sunset in UTC, good to about ten minutes: the equation of time is left out. */
async function sunTimes(_project: string, args: JsonObject): Promise<Json> {
  const [latitude, longitude] = [number(args, "latitude", MAX_LATITUDE), number(args, "longitude", 180)];
  const day = midnight(args);
  const dayOfYear = (day.valueOf() - Date.UTC(day.getUTCFullYear(), 0, 1)) / DAY_MS;
  const declination = -Math.asin(Math.sin(OBLIQUITY) * Math.cos((2 * Math.PI * (dayOfYear + 10)) / 365.25));
  const halfDay = Math.acos(-Math.tan(radians(latitude)) * Math.tan(declination)) / (2 * Math.PI);
  const noon = 0.5 - longitude / 360;
  const at = (fraction: number) => new Date(day.valueOf() + fraction * DAY_MS).toISOString();
  return { sunrise: at(noon - halfDay), sunset: at(noon + halfDay), daylight_hours: Number((halfDay * 48).toFixed(2)) };
}

async function echo(_project: string, args: JsonObject): Promise<Json> {
  return { echo: args };
}

async function count(project: string, args: JsonObject): Promise<Json> {
  const counter = JSON.stringify([project, args["key"]]);
  const next = (counts.get(counter) ?? 0) + 1;
  counts.set(counter, next);
  return { count: next };
}

async function fail(_project: string, args: JsonObject): Promise<Json> {
  throw new Error(String(args["message"]));
}

async function control(_project: string, args: JsonObject): Promise<Json> {
  return { done: true, __cg_control: args["control"] };
}

/** By what follows `cmd.tool.` in the `target_subject` of the `resource.tools` row. */
export const TOOLS: Record<string, Tool> = {
  "sun.times": sunTimes,
  "sun.probe.echo": echo,
  "sun.probe.count": count,
  "sun.probe.fail": fail,
  "sun.probe.ctl": control,
};
