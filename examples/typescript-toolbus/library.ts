/**
 * The tools of Birch Library: what the vendor sells.
 *
 * A tool is a function of its own arguments, which have been checked against its schema. It returns a reply or throws,
 * and knows nothing of MCP, artifacts or shaping.
 */

import { z } from "zod";

const BOOKS = [
  { id: "b-07", title: "Lichens of the North", shelf: "C2", copies: 1 },
  { id: "b-12", title: "A Field of Rye", shelf: "A4", copies: 3 },
  { id: "b-31", title: "The Clockmaker's Atlas", shelf: "D1", copies: 0 },
  { id: "b-44", title: "Harbour Songs", shelf: "A1", copies: 2 },
  { id: "b-58", title: "Bread in Winter", shelf: "B3", copies: 5 },
];
const PAGE = 2;
const LOAN = "2025-11-21 10:05 b-12 lent for four weeks\n";

/** What the caller sent does not fit. The text names the argument and never its value, which may be a secret. */
export class BadArgument extends Error {}

/** What the caller sent fits, and yet it cannot be done. The text is fit to be shown. */
export class ToolFailure extends Error {}

export interface NextAction {
  tool: string;
  action: string | null;
  args: Record<string, unknown>;
}

export interface Reply {
  result: unknown;
  nextActions?: NextAction[];
}

export interface Tool {
  description: string;
  inputs: z.ZodObject;
  run(args: never): Reply;
  breakGlass?: string; // the boolean argument with which a caller asks to see secrets
}

function tool<S extends z.ZodObject>(
  description: string,
  inputs: S,
  run: (args: z.output<S>) => Reply,
  breakGlass?: string,
): Tool {
  return { description, inputs, run, ...(breakGlass === undefined ? {} : { breakGlass }) };
}

function find(id: string): (typeof BOOKS)[number] {
  const book = BOOKS.find((one) => one.id === id);
  if (book === undefined) throw new BadArgument("`book` is no book of this library");
  return book;
}

function list(offset: number): Reply {
  const end = offset + PAGE;
  const complete = end >= BOOKS.length;
  const nextActions = complete ? [] : [{ tool: "book_list", action: null, args: { offset: end } }];
  return { result: { books: BOOKS.slice(offset, end), total: BOOKS.length, complete }, nextActions };
}

export const text = z.string().min(1).max(200);
export const TOOLS: Record<string, Tool> = {
  book_find: tool("Title, shelf and copies of one book.", z.object({ book: text }), ({ book }) => ({
    result: find(book),
  })),
  book_list: tool("All books, by page.", z.object({ offset: z.int().min(0).default(0) }), ({ offset }) => list(offset)),
  slip_preview: tool("A slip as it would be printed.", z.object({ lines: z.unknown() }), ({ lines }) => ({
    result: { slip: lines, width_mm: 80 },
  })),
  slip_print: tool(
    "Print the slip of a book.",
    z.object({ book: text, desk: z.enum(["north", "south"]) }),
    ({ book }) => {
      find(book);
      throw new ToolFailure("the printer is out of paper");
    },
  ),
  loan_log: tool(
    "The latest loans, up to a size.",
    z.object({
      bytes: z
        .int()
        .min(0)
        .max(16 * 1024 * 1024),
    }),
    ({ bytes }) => ({
      result: { log: LOAN.repeat(bytes / LOAN.length + 1).slice(0, bytes) },
    }),
  ),
  partner_check: tool(
    "What would be sent to a partner library; the tool bus redacts it unless `reveal` is set.",
    z.object({
      partner: text,
      login: z.record(z.string(), z.unknown()),
      token: text.optional(),
      reveal: z.boolean().optional(),
    }),
    ({ partner, login, token }) => ({
      result: { partner, login, headers: token ? { Authorization: `Bearer ${token}` } : {} },
    }),
    "reveal",
  ),
};
