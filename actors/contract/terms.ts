/**
 * Terms: who is asked, how long they have, who comes after them, and how they hear of it.
 *
 * Owns: reading what approvals, questions and agents say into the data that the ledger keeps, and its faults. Does
 * not own: what a task becomes of it (asking.ts).
 *
 * TE1 Terms are data. What a task needs later, at a reminder or when it goes to the next in line, stands in its intent:
 *     no function is asked twice, so an answer that depends on the moment cannot make the fold diverge.
 * TE2 A tool or saga that terms name is the definition's own, or hosts and workers could not serve it.
 */
import { z } from "zod";
import type { InLine } from "../../protocol/intent.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Callable, Question } from "../machine/callable.ts";
import { readWhole } from "../values/whole.ts";
import type { Tool } from "./tool.ts";

/** Terms as the ledger keeps them: those in line, and what holds after the last of them. */
export interface LineTerms {
  readonly line: readonly [InLine, ...InLine[]];
  readonly otherwise?: Json;
}

/** What terms come to: the data, and the tools and sagas they name. Or why they are none. */
export type ReadTerms =
  { readonly asked: LineTerms; readonly names: readonly Callable[] } | { readonly fault: string };

const kindOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "kind" in value ? value.kind : undefined;

const callable = (what: string, ...kinds: string[]) =>
  z.custom<Callable>((value) => kinds.includes(String(kindOf(value))), `it is no ${what}`);

const GivenInput = z
  .record(z.string(), z.unknown())
  .transform((input) => toJson(input))
  .optional();

const place = {
  withinMs: z.number().nonnegative().max(limits.timerMaxMs),
  quorum: z.int().positive().optional(),
  remindEveryMs: z.number().min(limits.remindEveryMinMs).max(limits.timerMaxMs).optional(),
  notify: z.object({ tool: callable("tool", "tool"), input: GivenInput }).optional(),
  standIn: z.object({ saga: callable("saga", "saga"), input: GivenInput }).optional(),
};
const people = z.array(z.string().min(1).max(200));

const ApprovalPlace = z.object({
  ...place,
  by: people,
  otherwise: z.union([z.enum(["deny", "approve"]), z.object({ escalate: z.unknown() })]),
});
const QuestionPlace = z.object({
  ...place,
  to: people,
  withinMs: place.withinMs.default(limits.taskWithinMs),
  escalate: z.unknown().optional(),
});
type Place = Omit<z.infer<typeof QuestionPlace>, "escalate">;

const Approving = ApprovalPlace.transform(({ by, otherwise, ...rest }) => ({
  place: { ...rest, to: by } satisfies Place,
  ...(typeof otherwise === "object" ? { escalate: otherwise.escalate } : { otherwise }),
}));
/** What a machine or an agent binds, beside its terms; of its answer's schema and its default they are told elsewhere. */
const bound = ["kind", "name", "input", "output", "otherwise"];
const AskingPlace = QuestionPlace.transform(({ escalate, ...rest }) => ({ place: rest, escalate }));

/** The terms of an approval, as a tool or a policy gives them. */
export const readApproval = (terms: unknown): ReadTerms => readLine(Approving, terms);

/** The terms of a question, as a machine or an agent binds it. */
export function readQuestion(question: Question): ReadTerms {
  const read = readLine(AskingPlace, question);
  return "fault" in read || question.otherwise === undefined
    ? read
    : { ...read, asked: { ...read.asked, otherwise: toJson(question.otherwise) } };
}

/** The terms on which people are asked about a doubt of this tool; undefined where none are asked. */
export function readDoubtTerms({ onDoubt }: Pick<Tool, "onDoubt">): ReadTerms | undefined {
  if (typeof onDoubt === "object") return readLine(AskingPlace, onDoubt.ask);
  return onDoubt === "ask" ? readLine(AskingPlace, { to: [] }) : undefined;
}

interface PlaceRead {
  readonly place: Place;
  readonly otherwise?: "deny" | "approve";
  readonly escalate?: unknown;
}

/** By a loop, not by a recursive schema: terms may escalate to themselves. */
function readLine(schema: z.ZodType<PlaceRead>, terms: unknown): ReadTerms {
  const line: InLine[] = [];
  const names: Callable[] = [];
  for (let rest = terms; ;) {
    const read = readWhole(schema, line.length === 0 && isQuestion(rest) ? withoutBound(rest) : rest);
    if (!read.success) return { fault: read.reason };
    const { place: one, otherwise, escalate } = read.data;
    if (one.remindEveryMs !== undefined && one.notify === undefined)
      return { fault: "remindEveryMs needs notify: a reminder is another call of that tool" };
    line.push(inLine(one));
    if (one.notify !== undefined) names.push(one.notify.tool);
    if (one.standIn !== undefined) names.push(one.standIn.saga);
    const [first, ...next] = line;
    if (escalate === undefined && first !== undefined)
      return { asked: { line: [first, ...next], ...(otherwise === undefined ? {} : { otherwise }) }, names };
    if (line.length === limits.lineMax) return { fault: `more than ${limits.lineMax} in line` };
    rest = escalate;
  }
}

const isQuestion = (terms: unknown): terms is Question => kindOf(terms) === "question";

const withoutBound = (question: Question): object =>
  Object.fromEntries(
    Object.entries(question).filter(([key, one]) => one !== undefined && !bound.includes(key)),
  );

function inLine({ to, withinMs, quorum, remindEveryMs, notify, standIn }: Place): InLine {
  const attendant = (name: string, input: Json | undefined) => ({
    name,
    ...(input === undefined ? {} : { input }),
  });
  return {
    to,
    withinMs,
    ...(quorum === undefined ? {} : { quorum }),
    ...(remindEveryMs === undefined ? {} : { remindEveryMs }),
    ...(notify === undefined ? {} : { notify: attendant(notify.tool.name, notify.input) }),
    ...(standIn === undefined ? {} : { standIn: attendant(standIn.saga.name, standIn.input) }),
  };
}

/** What a definition binds, and what terms name or may name besides (TE2). */
export function withUsed(callables: readonly unknown[]): unknown[] {
  const all = new Set(callables);
  for (const one of all) for (const used of usedBy(one)) all.add(used);
  return [...all];
}

function usedBy(one: unknown): readonly Callable[] {
  const kind = kindOf(one);
  if (kind === "tool") {
    const { uses, approval } = one as Tool;
    const doubt = readDoubtTerms(one as Tool);
    return [
      ...uses,
      ...(typeof approval === "object" ? namesIn(readApproval(approval)) : []),
      ...(doubt === undefined ? [] : namesIn(doubt)),
    ];
  }
  return kind === "question" ? namesIn(readQuestion(one as Question)) : [];
}

const namesIn = (read: ReadTerms): readonly Callable[] => ("fault" in read ? [] : read.names);

/** What is wrong with fixed terms; told at load. */
export const faultsOf = (where: string, read: ReadTerms): string[] =>
  "fault" in read ? [`${where}: ${read.fault.replaceAll(/\s*\n\s*/g, " ")}`] : [];
