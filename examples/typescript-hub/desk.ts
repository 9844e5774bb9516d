/**
 * The calendar and the mailbox of a customer of Fern Desk, and the nine tools on them.
 *
 * Each tool has the schema of its inputs and a function of an account and of inputs that fit. It returns a result, or
 * throws an `Unfit`.
 * Deliberately absent: HTTP and envelopes, which are in `hub.ts`, and any service outside. All of it is in memory.
 */

import { randomUUID } from "node:crypto";

import { z } from "zod";

import { DAY, days, instantOf, inZone, isZone, MINUTE } from "./time.ts";

const HOME = "America/New_York";
const WORKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"];
const OFFICE_HOURS = { start: "09:00", end: "17:00" };
const [STEP, SUGGESTIONS, SEARCHED_DAYS, SNIPPET_CHARS] = [15 * MINUTE, 6, 60, 80];
const ERA = Date.UTC(2000, 0, 1); // older times may have offsets with seconds, which no agent expects

/** An input that fits its schema and yet cannot be meant. */
export class Unfit extends Error {
  readonly status: number;
  readonly code: string;

  constructor(message: string, status = 400, code = "INVALID_INPUT") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface Event {
  title: string;
  start: number;
  end: number;
  description: string;
  location: string;
  attendees: string[];
}

interface Mail {
  thread_id: string;
  from: string;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  body: string;
  date: number;
  unread: boolean;
  attachments: { filename: string; size: number; mime_type: string }[];
}

/** What one customer has; events and mails by id, in the order in which they came. */
export class Account {
  readonly address: string;
  readonly events = new Map<string, Event>();
  readonly mails = new Map<string, Mail>();

  constructor(address: string) {
    this.address = address;
    const [ana, bo] = ["ana@orchid.example", "bo@orchid.example"];
    const sheet = { filename: "prices.pdf", size: 48_211, mime_type: "application/pdf" };
    const arrived = (
      id: string,
      thread_id: string,
      from: string,
      at: string,
      subject: string,
      body: string,
      attachments = [sheet].slice(1),
    ) =>
      this.mails.set(id, {
        thread_id,
        from,
        to: [address],
        cc: [],
        bcc: [],
        subject,
        body,
        date: Date.parse(at),
        unread: true,
        attachments,
      });
    arrived("m-101", "t-fair", ana, "2025-03-03T08:10:00Z", "Spring fair", "Shall we share a stand?");
    arrived("m-102", "t-fair", bo, "2025-03-03T09:25:00Z", "Re: Spring fair", "I can bring the tables.");
    arrived("m-103", "t-fair", ana, "2025-03-04T07:00:00Z", "Re: Spring fair", "Then it is settled.");
    arrived("m-104", "t-prices", ana, "2025-03-05T16:40:00Z", "Prices of the spring fair", "The list is attached.", [
      sheet,
    ]);
    arrived(
      "m-105",
      "t-prices",
      bo,
      "2025-03-05T18:02:00Z",
      "Re: Prices of the spring fair",
      "Page two is upside down.",
    );
    arrived("m-106", "t-van", ana, "2025-03-06T06:30:00Z", "The van", "It is yours from Friday.");
  }

  event(id: string): Event {
    const event = this.events.get(id);
    if (!event) throw new Unfit("there is no such event", 404, "NOT_FOUND");
    return event;
  }

  mail(id: string): Mail {
    const mail = this.mails.get(id);
    if (!mail) throw new Unfit("there is no such message", 404, "NOT_FOUND");
    return mail;
  }

  isFree(start: number, end: number): boolean {
    return [...this.events.values()].every((event) => end <= event.start || event.end <= start);
  }
}

// What is optional may be null as well, and what the contract does not name is left alone.
const day = z.iso.date().refine((value) => Date.parse(value) >= ERA);
const clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/);
const zone = z.string().refine(isZone);
const email = z.string().regex(/^[^@\s]+@[^@\s]+$/);
const line = z.string().regex(/^[^\r\n\0]*$/); // ends up in a mail's head, where a line break would begin another field
/** An instant; one without an offset is meant in the office's own zone. */
const time = z.iso
  .datetime({ offset: true, local: true })
  .transform((value) => (/(Z|[+-]\d\d:\d\d)$/.test(value) ? Date.parse(value) : instantOf(value, HOME)))
  .refine((value) => value >= ERA);
const details = {
  description: z.string().nullish(),
  location: z.string().nullish(),
  attendees: z.array(email).nullish(),
};
const notify = { send_notifications: z.boolean().nullish() };
const span = z.object({ start: time, end: time });

interface Tool {
  integration: string;
  inputs: z.ZodType;
  run(account: Account, inputs: unknown): object;
}

function tool<S extends z.ZodType>(
  integration: string,
  inputs: S,
  run: (account: Account, inputs: z.output<S>) => object,
): Tool {
  return { integration, inputs, run: (account, given) => run(account, given as z.output<S>) };
}

function ordered(event: Event): Event {
  if (event.end <= event.start) throw new Unfit("`end` is not after `start`");
  return event;
}

function shown(id: string, event: Event): object {
  return {
    event_id: id,
    html_link: `https://desk.fern.example/calendar/${id}`,
    status: "confirmed",
    attendees: event.attendees.map((email) => ({ email, response_status: "needsAction" })),
  };
}

const availability = z.object({
  start_date: day,
  end_date: day,
  timezone: zone,
  calendars: z.array(z.string()).nullish(),
});

function getAvailability(account: Account, inputs: z.output<typeof availability>): object {
  const { start_date, end_date, timezone, calendars } = inputs;
  const [start, end] = [instantOf(`${start_date}T00:00`, timezone), instantOf(`${end_date}T00:00`, timezone) + DAY];
  if (end <= start) throw new Unfit("`end_date` is before `start_date`");
  const events = (calendars ?? ["primary"]).includes("primary") ? [...account.events.values()] : [];
  const busy_periods = events
    .filter((event) => event.start < end && start < event.end)
    .sort((one, other) => one.start - other.start)
    .map((event) => ({ start: inZone(event.start, timezone), end: inZone(event.end, timezone), calendar: "primary" }));
  return { busy_periods, working_hours: { ...OFFICE_HOURS, days: WORKDAYS } };
}

const eventInputs = z.object({ title: z.string(), ...span.shape, ...details, ...notify });

function createEvent(account: Account, inputs: z.output<typeof eventInputs>): object {
  const { title, start, end, description, location, attendees } = inputs;
  const event = {
    title,
    start,
    end,
    description: description ?? "",
    location: location ?? "",
    attendees: attendees ?? [],
  };
  const id = randomUUID();
  account.events.set(id, ordered(event));
  return shown(id, event);
}

const changes = z.object({ title: z.string(), ...span.shape, ...details }).partial();
const updateInputs = z.object({ event_id: z.string(), updates: changes, ...notify });

function updateEvent(account: Account, { event_id, updates }: z.output<typeof updateInputs>): object {
  const given = Object.fromEntries(Object.entries(updates).filter(([, value]) => value != null));
  const event = ordered({ ...account.event(event_id), ...given });
  account.events.set(event_id, event);
  return shown(event_id, event);
}

const deleteInputs = z.object({ event_id: z.string(), ...notify });

function deleteEvent(account: Account, { event_id }: z.output<typeof deleteInputs>): object {
  account.event(event_id);
  account.events.delete(event_id);
  return { event_id, status: "cancelled" };
}

const optimalInputs = z.object({
  duration_minutes: z
    .int()
    .positive()
    .max(24 * 60),
  attendees: z.array(email),
  date_range: z.object({ start: day, end: day }),
  preferences: z
    .object({ preferred_hours: z.object({ start: clock, end: clock }).nullish(), avoid_mondays: z.boolean().nullish() })
    .nullish(),
});

/** The earliest time of each day at which the customer is free; nothing is known of the attendees. */
function findOptimalTimes(account: Account, inputs: z.output<typeof optimalInputs>): object {
  const { duration_minutes, date_range, preferences } = inputs;
  const hours = preferences?.preferred_hours ?? OFFICE_HOURS;
  const last = new Date(Math.min(Date.parse(date_range.end), Date.parse(date_range.start) + SEARCHED_DAYS * DAY));
  const suggestions: object[] = [];
  for (const day of days(date_range.start, last.toISOString().slice(0, 10))) {
    const weekday = new Date(day).getUTCDay();
    if (weekday === 0 || weekday === 6 || (weekday === 1 && preferences?.avoid_mondays)) continue;
    const closing = instantOf(`${day}T${hours.end}`, HOME);
    for (let at = instantOf(`${day}T${hours.start}`, HOME); at + duration_minutes * MINUTE <= closing; at += STEP) {
      const end = at + duration_minutes * MINUTE;
      if (!account.isFree(at, end)) continue;
      suggestions.push({ start: inZone(at, HOME), end: inZone(end, HOME), score: 1, conflicts: [] });
      break;
    }
    if (suggestions.length === SUGGESTIONS) break;
  }
  return { suggestions };
}

const sendInputs = z.object({
  to: z.array(email).min(1),
  cc: z.array(email).nullish(),
  bcc: z.array(email).nullish(),
  subject: line,
  body: z.string(),
  body_type: z.enum(["text", "html"]).nullish(),
  reply_to_message_id: z.string().nullish(),
});

function send(account: Account, inputs: z.output<typeof sendInputs>): object {
  const { to, cc, bcc, subject, body, reply_to_message_id } = inputs;
  const thread_id = reply_to_message_id == null ? randomUUID() : account.mail(reply_to_message_id).thread_id;
  const message_id = randomUUID();
  const [from, date] = [account.address, Date.now()];
  account.mails.set(message_id, {
    thread_id,
    from,
    to,
    cc: cc ?? [],
    bcc: bcc ?? [],
    subject,
    body,
    date,
    unread: false,
    attachments: [],
  });
  return { message_id, thread_id, status: "sent" };
}

function head(message_id: string, mail: Mail): object {
  const { thread_id, from, to, subject, unread } = mail;
  return { message_id, thread_id, from, to, subject, date: new Date(mail.date).toISOString(), unread };
}

function snippet(mail: Mail): string {
  return mail.body.replace(/\s+/g, " ").slice(0, SNIPPET_CHARS);
}

/** One term of a query: `word`, `"two words"`, `from:…`, `to:…`, `subject:…` or `has:attachment`. */
function matches(mail: Mail, operator: string | undefined, quoted: string): boolean {
  const word = quoted.replaceAll('"', "").toLowerCase();
  const places: Record<string, string[]> = { from: [mail.from], to: [...mail.to, ...mail.cc], subject: [mail.subject] };
  if (operator === "has") return word === "attachment" && mail.attachments.length > 0;
  return (places[operator ?? ""] ?? [mail.subject, mail.body]).some((text) => text.toLowerCase().includes(word));
}

const searchInputs = z.object({
  query: z.string(),
  max_results: z.int().positive().nullish(),
  include_body: z.boolean().nullish(),
});

function search(account: Account, { query, max_results, include_body }: z.output<typeof searchInputs>): object {
  const terms = [...query.matchAll(/(?:(\w+):)?("[^"]*"|\S+)/g)];
  const hits = [...account.mails]
    .filter(([, mail]) => terms.every(([, operator, word]) => matches(mail, operator, word ?? "")))
    .sort(([, one], [, other]) => other.date - one.date);
  const messages = hits.slice(0, max_results ?? 10).map(([id, mail]) => ({
    ...head(id, mail),
    snippet: snippet(mail),
    has_attachments: mail.attachments.length > 0,
    ...(include_body ? { body: mail.body } : {}),
  }));
  return { messages, total_results: hits.length };
}

const readInputs = z.object({ message_id: z.string(), mark_as_read: z.boolean().nullish() });

function read(account: Account, { message_id, mark_as_read }: z.output<typeof readInputs>): object {
  const mail = account.mail(message_id);
  if (mark_as_read) mail.unread = false;
  return { ...head(message_id, mail), cc: mail.cc, body: mail.body, attachments: mail.attachments };
}

const repliesInputs = z.object({ thread_id: z.string(), since: time.nullish() });

/** Of the mails of others in the thread, the first opened it; what came exactly at `since` is no longer new. */
function checkReplies(account: Account, { thread_id, since }: z.output<typeof repliesInputs>): object {
  const thread = [...account.mails].filter(([, mail]) => mail.thread_id === thread_id);
  if (thread.length === 0) throw new Unfit("there is no such thread", 404, "NOT_FOUND");
  const replies = thread
    .slice(1)
    .filter(([, mail]) => mail.from !== account.address && (since == null || mail.date > since))
    .map(([id, mail]) => ({ ...head(id, mail), snippet: snippet(mail) }));
  return { has_new_replies: replies.length > 0, replies };
}

export const CALENDAR = "google_calendar";
export const MAIL = "google_gmail";
export const TOOLS = new Map<string, Tool>([
  ["calendar_get_availability", tool(CALENDAR, availability, getAvailability)],
  ["calendar_create_event", tool(CALENDAR, eventInputs, createEvent)],
  ["calendar_update_event", tool(CALENDAR, updateInputs, updateEvent)],
  ["calendar_delete_event", tool(CALENDAR, deleteInputs, deleteEvent)],
  ["calendar_find_optimal_times", tool(CALENDAR, optimalInputs, findOptimalTimes)],
  ["email_send", tool(MAIL, sendInputs, send)],
  ["email_search", tool(MAIL, searchInputs, search)],
  ["email_read", tool(MAIL, readInputs, read)],
  ["email_check_replies", tool(MAIL, repliesInputs, checkReplies)],
]);
