/** `node sagamesh-client.ts URL` starts, waits and signals, as a user's program does. */
import { load, newId, now, serve, together } from "./measured.ts";
import { fan, steps, talk } from "./sagamesh-sagas.ts";

const { connect } = load("sagamesh");
const mesh = await connect({ servers: process.argv[2] });

async function toEnd(definition: unknown, id: string, input: object): Promise<void> {
  const handle = await mesh.start(definition, { saga: id, ...input }, { id });
  const end = await handle.result();
  if (end.status !== "completed") throw new Error(`${id} ${end.status}: ${end.reason}`);
}

serve({
  run: ({ sagas, steps: count }) =>
    together(sagas, () => toEnd(steps, newId("s"), { steps: count, ms: 0, stays: false })).then(
      () => undefined,
    ),
  launch: ({ sagas, steps: count, ms }) =>
    together(sagas, () => {
      const id = newId("l");
      return mesh.start(steps, { saga: id, steps: count, ms, stays: false }, { id });
    }).then(() => undefined),
  rest: async ({ saga, steps: count }) => {
    await mesh.start(steps, { saga, steps: count, ms: 0, stays: true }, { id: saga });
  },
  signal: async ({ saga }) => {
    const at = now();
    await mesh.saga(steps, saga).signal("more", {});
    return at;
  },
  fan: ({ width }) => toEnd(fan, newId("f"), { width }),
  talk: ({ saga, decisions, chars }) => toEnd(talk, saga, { decisions, chars }),
});
