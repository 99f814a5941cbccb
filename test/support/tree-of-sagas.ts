/**
 * A tree of sagas without a mesh: every ledger is folded here, and a walk decides what happens next. The outside keeps
 * its own account: every model call that began has cost what its model read and wrote, whoever heard of it.
 */
import { accept } from "../../actors/kernel/accept.ts";
import { lateCallOf } from "../../actors/kernel/late.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { stateFromJson, stateToJson } from "../../actors/kernel/replay.ts";
import { treeOfChild } from "../../actors/kernel/slices.ts";
import { spendingOf } from "../../actors/kernel/spending.ts";
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import type { Amounts, ModelPrices, BudgetRaise } from "../../protocol/budget.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import { type IntentId, parseSagaId, type SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { type Json, jsonBytes } from "../../protocol/json.ts";
import type { ModelMessage, ModelAnswer } from "../../protocol/model.ts";
import { agentOwn } from "./own.ts";

export interface Tree {
  readonly sagas: ReadonlyMap<SagaId, Ledger>;
  /** What the outside has billed so far. */
  readonly billed: Required<Amounts>;
  /** Lets one thing happen; false if there is nothing of the kind. */
  act(kind: Act, which: number, how: number): boolean;
}

export type Act = "reply" | "fail" | "takeover" | "late" | "tool" | "signal" | "raise" | "cancel";

interface Ledger {
  readonly definition: Definition;
  state: SagaState;
  messages: ModelMessage[];
}

/** A model call that began, as the outside knows it. */
interface Performed {
  readonly saga: SagaId;
  readonly intent: IntentId;
  readonly attempt: number;
  readonly usage: { inputTokens: number; outputTokens: number };
}

export interface TreeOptions {
  readonly root: Definition;
  readonly prices: ModelPrices;
  /** What the model answers: any calls it likes. */
  readonly answer: (definition: Definition, how: number) => Pick<ModelAnswer, "calls" | "text">;
  /** Called after every turn. */
  readonly check: (ledger: Ledger) => void;
}

const pick = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)];

export function createTree({ root, prices, answer, check }: TreeOptions): Tree {
  const sagas = new Map<SagaId, Ledger>();
  const billed = { steps: 0, tokens: 0, usd: 0, toolCalls: 0, children: 0 };
  /** Nobody has reported them yet. */
  let unreported: Performed[] = [];
  const begun = new Set<string>();
  let at = 0;

  const turn = (saga: SagaId, definition: Definition, event: Event): void => {
    at += 1_000;
    const known = sagas.get(saga);
    const before =
      known && stateFromJson(definition, JSON.parse(JSON.stringify(stateToJson(definition, known.state))));
    const judged =
      before === undefined ? { type: "new" as const, event } : accept(definition, before, event, at);
    if (judged.type !== "new") return;
    const { state, steps, said } = decideTurn(definition, before, { saga, at, events: [judged.event] });
    const ledger: Ledger = { definition, state, messages: [...(known?.messages ?? []), ...said] };
    sagas.set(saga, ledger);
    for (const { intents } of steps)
      for (const intent of intents) {
        if (intent.kind === "tool" && intent.undoes === undefined) billed.toolCalls += 1;
      }
    const children = steps.flatMap(({ intents, begun = [] }) => [
      ...intents.flatMap((intent) => (intent.kind === "saga" && intent.inLine !== true ? [intent] : [])),
      ...begun.flatMap((one) => {
        const intent = state.open[one.intent]?.intent;
        return intent?.kind === "saga" ? [intent] : [];
      }),
    ]);
    billed.children += children.length;
    check(ledger);
    for (const child of children) open(ledger, child);
    for (const { intents } of steps)
      for (const intent of intents) {
        if (intent.kind === "signal") {
          const body = {
            type: "signal",
            name: intent.name,
            data: intent.data ?? null,
            from: saga,
            sentAt: at,
          } as const;
          const child = sagas.get(intent.saga);
          if (child !== undefined)
            turn(intent.saga, child.definition, { ...body, id: `${saga}:${intent.id}` });
          turn(saga, definition, result(intent.id, 1, { outcome: "succeeded", output: null }));
        }
        if (intent.kind === "end") end(ledger, intent);
      }
  };
  const open = ({ state, definition }: Ledger, intent: IntentOf<"saga">) => {
    const child = definition.sagas.get(intent.name);
    if (child === undefined) return;
    start(intent.saga, child, {
      parent: { saga: state.saga, intent: intent.id },
      tree: treeOfChild(state, definition, intent),
    });
  };
  const start = (saga: SagaId, definition: Definition, more: Partial<EventOf<"start">>) => {
    const { name, version, hash } = definition;
    turn(saga, definition, {
      type: "start",
      definition: { name, version, hash },
      input: { of: "x" },
      prices,
      ...more,
    });
  };
  const end = ({ state }: Ledger, { status, output, code }: IntentOf<"end">) => {
    const { parent } = state;
    const above = parent && sagas.get(parent.saga);
    if (parent === undefined || above === undefined) return;
    const said =
      status === "completed"
        ? ({ outcome: "succeeded", output: output ?? null } as const)
        : ({ outcome: "failed", code: code ?? "", reason: status, retry: false } as const);
    turn(parent.saga, above.definition, { ...result(parent.intent, 1, said), spent: spendingOf(state) });
  };
  const result = (
    intent: IntentId,
    attempt: number,
    said: EventOf<"result">["result"],
  ): EventOf<"result"> => ({
    type: "result",
    intent,
    attempt,
    by: "h",
    result: said,
  });

  /** The model is asked, if it was not yet: it reads a token for each byte and writes all that it may. */
  const perform = ({ state, definition, messages }: Ledger, { intent, attempt }: OpenIntent): void => {
    const key = `${state.saga}/${intent.id}#${attempt}`;
    if (intent.kind !== "model" || begun.has(key)) return;
    begun.add(key);
    const { frame } = agentOwn(definition);
    const inputTokens = jsonBytes([frame?.instructions, frame?.tools, messages]);
    const usage = { inputTokens, outputTokens: intent.outputTokensMax ?? 0 };
    const price = prices[intent.name];
    billed.tokens += inputTokens + usage.outputTokens;
    if (price !== undefined)
      billed.usd += (inputTokens * price.inputPerMillion + usage.outputTokens * price.outputPerMillion) / 1e6;
    if (attempt === 1) billed.steps += 1;
    unreported.push({ saga: state.saga, intent: intent.id, attempt, usage });
  };
  /** Everything that a host would begin is begun. */
  const performAll = () => {
    for (const ledger of sagas.values())
      for (const one of Object.values(ledger.state.open)) perform(ledger, one);
  };
  const openOf = (kind: string): [Ledger, OpenIntent][] =>
    [...sagas.values()].flatMap((ledger) =>
      Object.values(ledger.state.open)
        .filter(({ intent }) => intent.kind === kind)
        .map((one): [Ledger, OpenIntent] => [ledger, one]),
    );
  const report = (call: Performed, said: EventOf<"result">["result"]) => {
    unreported = unreported.filter((other) => other !== call);
    const ledger = sagas.get(call.saga);
    if (ledger !== undefined) turn(call.saga, ledger.definition, result(call.intent, call.attempt, said));
  };

  const acts: Record<Act, (which: number, how: number) => boolean> = {
    reply: (which, how) => {
      const call = pick(unreported.filter(isCurrent), which);
      if (call === undefined) return false;
      const { definition } = sagas.get(call.saga) as Ledger;
      const output = {
        model: "m",
        usage: call.usage,
        calls: [],
        ...answer(definition, how),
      } as unknown as Json;
      report(call, { outcome: "succeeded", output });
      return true;
    },
    fail: (which) => {
      const call = pick(unreported.filter(isCurrent), which);
      if (call === undefined) return false;
      report(call, { outcome: "failed", code: "MODEL_FAILED", reason: "", retry: true, usage: call.usage });
      return true;
    },
    // The host dies: it may have asked, and another one takes over.
    takeover: (which) => {
      const ledger = pick([...sagas.values()], which);
      if (ledger === undefined) return false;
      turn(ledger.state.saga, ledger.definition, { type: "adopted", anew: true });
      return true;
    },
    // A host that was slow tells what a call that is over has cost.
    late: (which, how) => {
      const call = pick(
        unreported.filter((one) => !isCurrent(one)),
        which,
      );
      if (call === undefined) return false;
      const why = { code: "CANCELLED", reason: "" };
      const usage = how % 3 === 0 ? {} : { usage: call.usage };
      report(call, { outcome: "cancelled", ...why, ...usage });
      return true;
    },
    tool: (which) => {
      const [ledger, open] = pick(openOf("tool"), which) ?? [];
      if (ledger === undefined || open === undefined) return false;
      const said = { outcome: "succeeded", output: { id: "é".repeat(which) } } as const;
      turn(ledger.state.saga, ledger.definition, result(open.intent.id, open.attempt, said));
      return true;
    },
    signal: (which, how) => {
      const ledger = pick([...sagas.values()], which);
      if (ledger === undefined) return false;
      const body = { type: "signal", name: "hint", data: null, from: "o", sentAt: at } as const;
      turn(ledger.state.saga, ledger.definition, { ...body, id: `${how}-${at}` });
      return true;
    },
    raise: (which, how) => {
      const ledger = pick([...sagas.values()], which);
      const limits = ledger?.state.budget?.limits;
      const [name] = Object.keys(limits ?? {});
      if (ledger === undefined || name === undefined) return false;
      const data: BudgetRaise = { [name]: name === "tokens" ? 5_000 + how : 1 };
      const body = { type: "signal", name: "budget", data, from: "o", sentAt: at } as const;
      turn(ledger.state.saga, ledger.definition, { ...body, id: `r${how}-${at}` });
      return true;
    },
    cancel: (which, how) => {
      const ledger = pick([...sagas.values()], which);
      if (ledger === undefined || how % 20 !== 0) return false;
      const body = { type: "signal", name: "cancel", data: null, from: "o", sentAt: at } as const;
      turn(ledger.state.saga, ledger.definition, { ...body, id: `c${at}` });
      return true;
    },
  };
  const isCurrent = ({ saga, intent, attempt }: Performed): boolean => {
    const state = sagas.get(saga)?.state;
    return state?.open[intent]?.attempt === attempt && lateCallOf(state, intent, attempt) === undefined;
  };

  start(parseSagaId("root"), root, {});
  performAll();
  return {
    sagas,
    billed,
    act: (kind, which, how) => {
      const acted = acts[kind](which, how);
      performAll();
      return acted;
    },
  };
}
