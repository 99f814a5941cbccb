/**
 * Defining sagas whose machine their author writes.
 */
import type { AnyStateMachine } from "xstate";
import type { z } from "zod";
import { toJson } from "../../protocol/json.ts";
import { commonFaults, define } from "../contract/define.ts";
import type { LogsTo, Moves, SagaDefinition, SignalSchemas, WhenEarly } from "../contract/definition.ts";
import { policyNames } from "../contract/inherit.ts";
import type { Policy } from "../contract/policy.ts";
import { callableOf } from "../machine/callable.ts";
import { machineFaults } from "../machine/faults.ts";
import { openMachine } from "../machine/machine.ts";
import { machineNotes } from "../machine/notes.ts";
import type { Agreeing } from "./agrees.ts";
import { sagaKind } from "./kind.ts";
import { readGiven } from "../contract/given.ts";
import { sagaInstead, SagaShape } from "./shape.ts";
import type { Budget } from "../contract/budget-config.ts";

/** What `defineSaga` takes. */
export interface SagaConfig<
  I extends z.ZodType,
  O extends z.ZodType,
  S extends SignalSchemas,
  M extends AnyStateMachine = AnyStateMachine,
> {
  /** A letter, then up to 63 letters, digits, _ or -. */
  name: string;
  /** Raise it when the machine decides otherwise than before; running sagas keep theirs. */
  version: number;
  /** How its sagas move to a newer version; `pinned` unless given. */
  moves?: Moves;
  description?: string;
  input: I;
  output: O;
  /** What the outside may send besides `cancel`; each is an event `{ type, data, at, from }`. None unless given. */
  signals?: S;
  /**
   * A signal that no present state takes. `ignore` (default, as in XState): it is dropped, and recorded as that. `keep`: it is
   * offered again after each transition. For all, or by the signal's name.
   */
  whenEarly?: "keep" | "ignore" | { readonly [K in keyof S & string]?: "keep" | "ignore" };
  /**
   * Where what its machine logs (`log` of XState) is kept. `host` (default, for a ledger is kept for ever): a line of the host's log,
   * at `info`, which a host that dies at that moment has not written. `ledger`: also with the turn that logged it, in the same
   * message, secrets taken out: at most 8,192 characters a turn, 1,024 a line. `inspect` and `tail` show it.
   */
  logs?: LogsTo;
  /** What it declares in its `types` (input, output, events; its context is its own) fits the schemas above, or it does not compile. */
  machine: M;
  /** Asked about every call of the machine's and of what it starts, before a call becomes an intent. */
  policies?: readonly Policy[];
  /** Shared with all below it; what it refuses is an error of the actor that asked, with BUDGET_EXCEEDED. */
  budget?: Budget;
}

/**
 * Makes any XState 5 machine durable. Its invokes and spawned children are tools, sagas and the reserved
 * callables bound by `toActors`; its delays are durable timers; its assigns and guards must be pure.
 */
export function defineSaga<
  I extends z.ZodType,
  O extends z.ZodType,
  S extends SignalSchemas = Record<string, never>,
  M extends AnyStateMachine = AnyStateMachine,
>(given: SagaConfig<I, O, S, M> & { machine: Agreeing<M, I, O, S> }): SagaDefinition<I, O, S> {
  const { config: read, faults: inShape } = readGiven("saga", SagaShape, given, sagaInstead);
  const config = { ...read, signals: read.signals ?? ({} as S) }; // Proof: S is this where no signals are given.
  const inMachine = machineFaults(config.machine).map((fault) => `${config.name}: ${fault}`);
  const faults = [...inShape, ...commonFaults(config), ...inMachine];
  const machine = openMachine(config.machine);
  return define(sagaKind, config, {
    own: undefined,
    machine,
    callables: Object.values(config.machine.implementations.actors)
      .map(callableOf)
      .filter((callable) => callable !== undefined),
    faults,
    notes: machineNotes(config.machine, Object.keys(config.signals)).map((note) => `${config.name}: ${note}`),
    identity: {
      // Without its functions: their text differs between source and build.
      machine: toJson(config.machine.config),
      // "keep" was what was meant where none is given. Running sagas go on as they began, so the hash need not tell.
      whenEarly: config.whenEarly ?? "keep",
      policies: policyNames(config.policies),
      budget: config.budget,
    },
    policies: config.policies,
    whenEarly: config.whenEarly as WhenEarly, // A member that is absent is undefined.
    budget: config.budget,
    logs: config.logs,
  });
}
