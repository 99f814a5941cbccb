/**
 * Routes: which request is answered by what. Only POST acts.
 */
import { MeshError } from "../../protocol/errors.ts";
import { parseIntentId, parseSagaId, type SagaId } from "../../protocol/ids.ts";
import type { ClientDeps } from "../client/send.ts";
import { readTask } from "../client/task-detail.ts";
import * as acts from "./acts.ts";
import { type Answer, refused, told } from "./answers.ts";
import { type ArchivePlace, doToMany, lookAtMany } from "./bulk.ts";
import type { BulkKind, MeDocument } from "./documents.ts";
import type { Who } from "./guard.ts";
import type { MeshTeller } from "./mesh.ts";
import { pictureOf } from "./picture.ts";
import type { Asking } from "./questions.ts";
import type { SagaTeller } from "./saga.ts";
import type { SagaFinder } from "./sagas.ts";
import type { StateTeller } from "./state.ts";
import { schemaOf, takesOf } from "./takes.ts";
import { allTasks } from "./tasks.ts";

/** What the routes answer from. */
export interface Served {
  readonly deps: ClientDeps;
  readonly me: Omit<MeDocument, keyof Who>;
  readonly finder: SagaFinder;
  readonly teller: SagaTeller;
  readonly state: StateTeller;
  readonly mesh: MeshTeller;
  readonly asking: Asking;
  readonly archives: ArchivePlace;
}

/** A request, its path without `/api`. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Throws BAD_JSON, TOO_LARGE. */
  readonly body: () => Promise<unknown>;
  readonly who: Who;
}

type Handle = (served: Served, asked: Asked, names: readonly string[]) => Promise<Answer>;

/** Every path and what may be asked of it. */
export const routes: readonly (readonly [method: "GET" | "POST", path: RegExp, handle: Handle])[] = [
  ["GET", /^\/me$/, async ({ me, deps }, { who }) => told({ ...me, from: deps.from, ...who })],
  ["GET", /^\/sagas$/, async ({ finder }, { query }) => told(await finder.find(wantedBy(query)))],
  [
    "GET",
    /^\/sagas\/([^/]+)$/,
    async ({ teller }, { query }, [saga]) => told(await teller.saga(idOf(saga), numberIn(query, "turn"))),
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/timeline$/,
    async ({ teller }, { query }, [saga]) =>
      told(await teller.timeline(idOf(saga), numberIn(query, "after") ?? 0)),
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/why$/,
    async ({ teller }, { query }, [saga]) => told(await teller.story(idOf(saga), numberIn(query, "turn"))),
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/memory$/,
    async ({ teller, state }, { query }, [saga]) => {
      const now = query.has("now") ? await state.memory(idOf(saga)) : undefined;
      return told(now ?? (await teller.memory(idOf(saga))));
    },
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/graph$/,
    async ({ deps, teller }, { query }, [saga]) => {
      const open = new Set(query.get("open")?.split(",") ?? []);
      const asked = { saga: idOf(saga), turn: numberIn(query, "turn"), open };
      return told(await pictureOf(teller, asked, deps.ports.loop));
    },
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/plan$/,
    async ({ state }, { query }, [saga]) => told(await state.plan(idOf(saga), numberIn(query, "turn"))),
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/state\/([^/]+)$/,
    async ({ state }, { query }, [saga, dimension = ""]) =>
      told(await state.side(idOf(saga), dimension, numberIn(query, "turn"))),
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/turns\/(\d+)$/,
    async ({ teller }, _, [saga, turn]) => told(await teller.turn(idOf(saga), Number(turn))),
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/intents\/([^/]+)$/,
    async ({ teller }, _, [saga, intent = ""]) => told(await teller.intent(idOf(saga), intent)),
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/intents\/([^/]+)\/prompt$/,
    async ({ state }, { query }, [saga, intent = ""]) =>
      told(await state.prompt(idOf(saga), intent, query.has("whole"))),
  ],
  ["GET", /^\/tasks$/, async ({ deps, finder }) => told(await allTasks(deps.ports, finder))],
  [
    "GET",
    /^\/tasks\/([^/]+)\/([^/]+)$/,
    async ({ deps }, _, [saga, intent = ""]) =>
      told(await readTask(deps.ports, idOf(saga), parseIntentId(intent))),
  ],
  [
    "POST",
    /^\/tasks\/([^/]+)\/([^/]+)$/,
    async ({ deps }, { body, who }, [saga, intent = ""]) => {
      await acts.vote(deps, who, { saga: idOf(saga), task: intent }, await body());
      return told({ stored: true }, 202);
    },
  ],
  [
    "POST",
    /^\/sagas\/([^/]+)\/signals$/,
    async ({ deps }, { body }, [saga]) => {
      await acts.signal(deps, idOf(saga), await body());
      return told({ stored: true }, 202);
    },
  ],
  [
    "GET",
    /^\/sagas\/([^/]+)\/takes$/,
    async ({ deps, teller }, _, [saga]) => {
      const { definition } = await teller.saga(idOf(saga));
      return told(await takesOf(deps.ports.registry, definition));
    },
  ],
  [
    "GET",
    /^\/tools\/([^/]+)\/(input|output)$/,
    async ({ deps }, _, [tool = "", of]) =>
      told({ schema: await schemaOf(deps.ports.registry, decoded(tool), of === "input" ? of : "output") }),
  ],
  [
    "GET",
    /^\/found$/,
    async ({ asking }, { query }) =>
      told(await asking.find(query.get("filter") ?? "", query.get("sort") === "cost" ? "cost" : "updated")),
  ],
  [
    "GET",
    /^\/bulk\/(cancel|settle|retry|archive)$/,
    async (served, { query }, [kind]) => told(await lookAtMany(served, kind as BulkKind, query)), // It is one of them.
  ],
  [
    "POST",
    /^\/bulk\/(cancel|settle|retry|archive)$/,
    async (served, { body, who }, [kind]) =>
      told(await doToMany(served, kind as BulkKind, { who, said: await body() }), 202),
  ],
  [
    "GET",
    /^\/cost$/,
    async ({ asking }, { query }) =>
      told(await asking.cost(Math.min(Math.max(1, numberIn(query, "days") ?? 30), 366))),
  ],
  ["GET", /^\/latencies$/, async ({ asking }) => told(await asking.latencies())],
  ["GET", /^\/mesh$/, async ({ mesh }) => told(await mesh.mesh())],
  ["GET", /^\/letters\/(\d{1,15})$/, async ({ mesh }, _, [seq]) => told(await mesh.letter(Number(seq)))],
  [
    "POST",
    /^\/letters\/(\d{1,15})$/,
    async ({ mesh }, { body }, [seq]) => {
      await acts.settleLetter(mesh, Number(seq), await body());
      return told({ done: true });
    },
  ],
  [
    "POST",
    /^\/sagas\/([^/]+)\/findings$/,
    async ({ deps }, { body, who }, [saga]) => {
      await acts.settle(deps, who, idOf(saga), await body());
      return told({ stored: true }, 202);
    },
  ],
  [
    "POST",
    /^\/sagas\/([^/]+)\/forks$/,
    async ({ deps }, { body }, [saga]) => told(await acts.fork(deps, idOf(saga), await body()), 202),
  ],
];

/** The answer to a request for a document or an act. Throws what it meets. */
export async function answerTo(served: Served, asked: Asked): Promise<Answer> {
  const { name } = asked.who;
  // What is done is recorded under the name that the proxy vouches for.
  const own = name === undefined ? served : { ...served, deps: { ...served.deps, from: name } };
  let isKnown = false;
  for (const [method, path, handle] of routes) {
    const found = path.exec(asked.path);
    if (found === null) continue;
    isKnown = true;
    if (method === asked.method) return handle(own, asked, found.slice(1));
  }
  return isKnown
    ? refused(405, "USAGE", `${asked.method} is not for ${asked.path}`, "Only POST acts.")
    : refused(404, "USAGE", `there is nothing at ${asked.path}`, "Begin at the console's first page.");
}

/** Throws BAD_ID. */
const idOf = (word = ""): SagaId => parseSagaId(decoded(word));

/** A word of a path as it was meant; what is no encoding is refused with the ids. */
function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new MeshError("USAGE", `${name} is a whole number`);
}

const wantedBy = (query: URLSearchParams): Parameters<SagaFinder["find"]>[0] => ({
  status: query.get("status") ?? undefined,
  name: query.get("name") ?? undefined,
  text: query.get("text") ?? undefined,
  ...(query.get("asks") === null ? {} : { asks: true }),
  before: numberIn(query, "before"),
  limit: numberIn(query, "limit"),
});
