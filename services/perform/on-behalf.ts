/** On behalf: whose code of an application runs now, and began what is heard of later. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { IntentId, SagaId } from "../../protocol/ids.ts";

/** Whose code runs: a tool's body, or functions of a machine or a contract, with what the saga's turn was taken with. */
export interface Whose {
  readonly saga: SagaId;
  readonly intent?: IntentId;
  readonly tool?: string;
  readonly what?: string;
}

const running = new AsyncLocalStorage<Whose>();

/** Calls code of an application; all that it begins is known for whose it is. */
export const onBehalfOf = <T>(whose: Whose, act: () => T): T => running.run(whose, act);

/** Whose code this is, or was begun by; undefined for what is no saga's. */
export const whoseCode = (): Whose | undefined => running.getStore();
