/** `node restate-process.ts app PORT` serves the workflow; `client INGRESS` starts, waits and signals. */
import { load, mark, newId, now, prose, serve, step, together } from "./measured.ts";

const [role = "", where = ""] = process.argv.slice(2);

async function beApp(): Promise<void> {
  const restate = load("@restatedev/restate-sdk");
  const steps = restate.workflow({
    name: "steps",
    handlers: {
      run: async (
        context: any,
        { steps: count, ms, stays }: { steps: number; ms: number; stays: boolean },
      ) => {
        const saga = context.key as string;
        for (let n = 0; n < count; n++) await context.run("step", () => step(saga, ms));
        if (!stays) return;
        for (let n = 0; ; n++) {
          await context.promise(`more-${n}`);
          await context.run("step", () => step(saga, ms));
        }
      },
      more: (context: any, { n }: { n: number }) => context.promise(`more-${n}`).resolve(true),
    },
  });
  const fan = restate.workflow({
    name: "fan",
    handlers: {
      run: (context: any, { width }: { width: number }) =>
        restate.RestatePromise.all(
          Array.from({ length: width }, (_, n) => context.run("step", () => mark(`${context.key}-${n}`))),
        ).then(() => "joined"),
    },
  });
  const talk = restate.workflow({
    name: "talk",
    handlers: {
      run: async (context: any, { decisions, chars }: { decisions: number; chars: number }) => {
        const messages: { role: string; content: string }[] = [];
        for (let n = 0; n < decisions; n++) {
          const content: string = await context.run("model", () => {
            mark(context.key);
            return prose(2 * n, chars);
          });
          messages.push({ role: "assistant", content });
          const found: string = await context.run("tool", () => prose(2 * n + 1, chars));
          messages.push({ role: "tool", content: found });
        }
        return messages.length;
      },
    },
  });
  await restate.serve({ services: [steps, fan, talk], port: Number(where) });
  serve({});
}

function beClient(): void {
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await fetch(`${where}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  };
  const signalled = new Map<string, number>();
  serve({
    run: ({ sagas, steps }) =>
      together(sagas, () => post(`steps/${newId("s")}/run`, { steps, ms: 0, stays: false })).then(
        () => undefined,
      ),
    launch: ({ sagas, steps, ms }) =>
      together(sagas, () => post(`steps/${newId("l")}/run/send`, { steps, ms, stays: false })).then(
        () => undefined,
      ),
    rest: ({ saga, steps }) => post(`steps/${saga}/run/send`, { steps, ms: 0, stays: true }),
    signal: async ({ saga }) => {
      const n = signalled.get(saga) ?? 0;
      signalled.set(saga, n + 1);
      const at = now();
      await post(`steps/${saga}/more`, { n });
      return at;
    },
    fan: ({ width }) => post(`fan/${newId("f")}/run`, { width }),
    talk: ({ saga, decisions, chars }) => post(`talk/${saga}/run`, { decisions, chars }),
  });
}

if (role === "app") await beApp();
else beClient();
