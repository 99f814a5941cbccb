/**
 * Test saga: a saga's handle whose waiting lets virtual time pass.
 */
import type { SignalSchemas } from "../../actors/contract/definition.ts";
import { type Duration, msOf } from "../../protocol/duration.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Mesh, SagaEnd, SagaHandle } from "../client/mesh.ts";
import type { MemoryMesh } from "../memory/mesh.ts";
import type { TestTime } from "./test-time.ts";

/** A saga as a test holds it: a `SagaHandle`, and what only a test can ask. Every method leaves the mesh at rest. */
export interface TestSaga<O = unknown, S extends SignalSchemas = SignalSchemas> extends SagaHandle<O, S> {
  /** Lets time pass until the saga has ended. Throws UNAVAILABLE if that takes more than `within` ("30d"). */
  result(options?: { signal?: AbortSignal; within?: Duration }): Promise<SagaEnd<O>>;
  /** How it has ended; undefined if it has not. Lets no time pass. */
  end(): Promise<SagaEnd<O> | undefined>;
}

const within: Duration = "30d";

/** The handle of a saga of this mesh, with the time that its waiting takes. */
export function testSagaOf<O, S extends SignalSchemas>(
  handle: SagaHandle<O, S>,
  { clock, server }: MemoryMesh,
  time: TestTime,
  client: Pick<Mesh, "tasks">,
): TestSaga<O, S> {
  const { id } = handle;
  const hasEnded = () =>
    server.ledger.after(id, 0).some(({ data }) => Buffer.from(data).includes('"kind":"end"'));
  const late = async (what: string, withinMs: Duration): Promise<MeshError> =>
    new MeshError(
      "UNAVAILABLE",
      `${id} ${what} within ${withinMs}${await taskOf(id, clock.until(client.tasks()))}`,
      {
        remedy: "See what it waits for with its ledger() and the mesh's tasks().",
      },
    );
  /** What is waited for lets time pass, as long as nothing is there. */
  async function* passing<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
    const items = source[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = items.next();
        if (!(await comes(next))) throw await late("has told nothing more", within);
        const item = await next;
        if (item.done === true) return;
        yield item.value;
      }
    } finally {
      const left = items.return?.();
      if (left !== undefined) await comes(left);
    }
  }
  const comes = async (work: Promise<unknown>): Promise<boolean> => {
    let isThere = false;
    const settle = () => {
      isThere = true;
    };
    work.then(settle, settle);
    await time.pass(clock.now() + msOf(within), () => isThere);
    return isThere;
  };
  return {
    id,
    signal: (name: string, data: unknown, options?: { id?: string }) =>
      time.call(handle.signal(name as never, data as never, options)),
    cancel: (reason) => time.call(handle.cancel(reason)),
    result: async ({ signal, within: longest = within } = {}) => {
      await clock.until(handle.ledger()); // Throws for an id that is no saga's.
      await time.pass(clock.now() + msOf(longest), () => hasEnded() || signal?.aborted === true);
      signal?.throwIfAborted();
      if (!hasEnded()) await clock.until(handle.ledger()); // Its start may have been refused meanwhile.
      if (!hasEnded()) throw await late("has not ended", longest);
      return clock.until(handle.result());
    },
    end: async () => (hasEnded() ? clock.until(handle.result()) : undefined),
    ledger: () => clock.until(handle.ledger()),
    entries: (options) => passing(handle.entries(options)),
    tokens: (options) => passing(handle.tokens(options)),
  };
}

async function taskOf(id: SagaId, tasks: ReturnType<Mesh["tasks"]>): Promise<string> {
  const own = (await tasks).filter(({ saga }) => saga === id);
  return own.map(({ question }) => `; it waits for a human: ${question}`).join("");
}
