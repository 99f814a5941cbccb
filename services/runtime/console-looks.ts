/**
 * Console looks: what the console asks of the whole mesh: the doctor's look, and questions to the tables. Both are loaded when
 * somebody first asks.
 *
 * XU1 The tables are followed while somebody asks them, and for a minute after: the first question fills them, and says how far
 *     that is while it lasts.
 */
import { resolve } from "node:path";
import { MeshError } from "../../protocol/errors.ts";
import type { App } from "../app/app.ts";
import type { Looks } from "../console/parts.ts";
import type { Tables } from "../console/questions.ts";
import type { Progress } from "../tables/keep.ts";
import type { Config } from "./config.ts";
import type { OpenMesh } from "./mesh.ts";
import { rememberedOf } from "./remembered.ts";
import { signerFor } from "./signing.ts";

/** How long a page waits for tables that are being filled, before it is told how far they are. Milliseconds. */
const waitMs = 4_000;
/** Milliseconds. */
const keptForMs = 60_000;
const askWithinMs = 10_000;

/** Until the signal. */
export const looksOf = (
  config: Config,
  mesh: Pick<OpenMesh, "ports" | "clock" | "meshId">,
  signal: AbortSignal,
  app: App | undefined,
): Looks => ({
  app,
  examine: async () => {
    const { examine } = await import("./doctor.ts");
    return examine(config, { report: () => undefined, signal });
  },
  tables: followedTables(config, mesh, signal),
  archives: { folder: resolve(config.archiveDir), signer: () => signerFor(mesh.ports, config, false) },
  remembering: (saga) => rememberedOf(mesh, saga),
});

/** Tables that are followed now. */
interface Followed {
  /** The last look that was taken, and how many were. */
  progress: Progress | undefined;
  looks: number;
  /** Why they are followed no more. */
  failed: Error | undefined;
  isOver: boolean;
  readonly idle: ReturnType<typeof setTimeout>;
}

function followedTables(
  config: Config,
  mesh: Pick<OpenMesh, "ports" | "clock" | "meshId">,
  signal: AbortSignal,
): Tables {
  let followed: Promise<Followed> | undefined;
  const follow = async (): Promise<Followed> => {
    const ending = new AbortController();
    const one: Followed = {
      ...{ progress: undefined, looks: 0, failed: undefined, isOver: false },
      idle: setTimeout(() => ending.abort(), keptForMs).unref(),
    };
    const [{ fillingOf }, { keepTables }] = await Promise.all([
      import("./tables.ts"),
      import("../tables/keep.ts"),
    ]);
    const report = (progress: Progress) => {
      one.progress = progress;
      one.looks += 1;
    };
    const filling = fillingOf(config, mesh, {
      signal: AbortSignal.any([signal, ending.signal]),
      report,
    });
    keepTables(filling)
      .catch((error: unknown) => (one.failed = error as Error)) // It throws nothing else.
      .finally(() => (one.isOver = true));
    return one;
  };
  /** Until a look that was begun by now has found nothing left. Throws UNAVAILABLE, INDEX_UNUSABLE. */
  const filled = async (): Promise<void> => {
    const known = followed;
    const isOver = known === undefined || (await known.then((one) => one.isOver).catch(() => true));
    if (isOver && followed === known) followed = follow(); // Of several who ask, one begins.
    const one = await followed!;
    one.idle.refresh();
    const from = one.looks;
    const until = mesh.clock.elapsed() + waitMs;
    while (!isFilled(one, from)) {
      if (one.failed !== undefined) throw one.failed;
      signal.throwIfAborted();
      if (mesh.clock.elapsed() > until) throw underWay(one.progress);
      await mesh.clock.sleep(20, signal);
    }
  };
  return {
    dialect: config.indexUrl === undefined ? "sqlite" : "postgres",
    ask: async (questions, rowsMax) => {
      await filled(); // XU1
      const [{ tablesAt }, { ask }] = await Promise.all([import("./tables.ts"), import("../tables/ask.ts")]);
      const at = tablesAt(config, mesh.meshId);
      return Promise.all(
        questions.map((question) => ask(at, question, { withinMs: askWithinMs, rowsMax }, signal)),
      );
    },
  };
}

/** The first look after it was asked may have been under way then; the second was begun after. */
const isFilled = ({ looks, progress }: Followed, from: number): boolean =>
  looks >= from + 2 && progress !== undefined && progress.read >= progress.stored;

const underWay = (progress: Progress | undefined): MeshError =>
  new MeshError(
    "UNAVAILABLE",
    progress === undefined
      ? "the tables that are asked are being opened"
      : `the tables that are asked are being filled: ${progress.read} of ${progress.stored} messages are read`,
    { remedy: "It is asked again by itself." },
  );
