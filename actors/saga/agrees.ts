/**
 * Agreement: what a machine declares of itself, the `types` of `setup`, against what its saga says of it, told by the compiler.
 *
 * TY1 What a machine does not declare agrees with everything, so machines without types compile as they did.
 * TY2 What the schemas let through fits what the machine declares, signals with their data on the event, and what it says
 *     fits `output`. Its context is its own, and that it declares events beyond the signals is no disagreement: it may raise
 *     them, which only its text tells.
 */
import type { AnyStateMachine, StateMachine } from "xstate";
import type { z } from "zod";
import type { SignalSchemas } from "../contract/definition.ts";
import type { SignalEvents } from "../machine/callable.ts";

/** What stands in the compiler's error: what does not fit, what the machine has, and what the saga. */
export interface MachineDisagrees<What extends string, Machine, Saga> {
  readonly "the machine does not fit its saga": [What, Machine, Saga];
}

/** TY2. `unknown` of a machine that fits; of any other the first that disagrees of input, output and signals. */
export type Agreeing<
  M extends AnyStateMachine,
  I extends z.ZodType,
  O extends z.ZodType,
  S extends SignalSchemas,
> =
  Declared<M> extends { input: infer Input; output: infer Output; events: infer Events }
    ? [z.infer<I>] extends [Input]
      ? OutputFits<Output, z.input<O>> extends true
        ? SignalsFit<S, Events>
        : MachineDisagrees<"the machine's output does not fit the schema `output`", Output, z.input<O>>
      : MachineDisagrees<"the machine's input is not what the schema `input` gives", Input, z.infer<I>>
    : unknown;

/* eslint-disable @typescript-eslint/no-explicit-any -- The places of StateMachine that are not asked about. */
/** What a machine's own type says of it. */
type Declared<M> =
  M extends StateMachine<any, infer E, any, any, any, any, any, any, any, infer I, infer O, any, any, any>
    ? { input: I; output: O; events: E }
    : never;
/* eslint-enable @typescript-eslint/no-explicit-any */

/** TY1: XState says `{} | null | undefined` of an output that is not declared. */
type OutputFits<Output, Wanted> = unknown extends Output
  ? true
  : [Said<Output>] extends [Wanted]
    ? true
    : [Said<Output>] extends [Frozen<Wanted>]
      ? true
      : false;

/** What a machine says that ends well: of several outputs those that give no reason, as the end of one that failed does. */
type Said<Output> = [Exclude<Output, Reasoned>] extends [never] ? Output : Exclude<Output, Reasoned>;
type Reasoned = { readonly because: string } | { readonly reason: string };

/** A list that a machine only reads is as good as one that it may change. */
type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

/** TY1: where no events are declared, or no signals named, there is nothing to compare. */
type SignalsFit<S extends SignalSchemas, E> = string extends keyof S | TypeOf<E>
  ? unknown
  : {
        [K in keyof S & string]: [SignalEvents<Pick<S, K>>] extends [E] ? never : K;
      }[keyof S & string] extends infer K extends keyof S & string
    ? [K] extends [never]
      ? unknown
      : [EventsOf<E, K>] extends [never]
        ? MachineDisagrees<`the machine declares no event for the signal "${K}"`, TypeOf<E>, K>
        : MachineDisagrees<
            `the data of the signal "${K}" does not fit the event that the machine declares`,
            EventsOf<E, K>,
            z.infer<S[K]>
          >
    : unknown;

type TypeOf<E> = E extends { readonly type: infer T } ? T : never;

/** The declared events of one type; `{ type: "go" | "stop" }` is of both. */
type EventsOf<E, K extends string> = E extends { readonly type: infer T } ? (K extends T ? E : never) : never;
