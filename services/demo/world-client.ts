/**
 * The way to the outside world, as the tools' bodies use it: a request with the effect's key.
 *
 * A real body would call a vendor's SDK here. The only thing of the demo's own is the header with the process's
 * number, by which the outside world knows whom to kill.
 */
import { NotPerformed, type PerformContext, type Probe, type Tool } from "sagamesh";
import { z } from "zod";

/** The environment variable with the outside world's address. */
export const worldVariable = "SAGAMESH_DEMO_WORLD";
export const pidHeader = "x-demo-pid";

const base = (): string => {
  const url = process.env[worldVariable];
  if (url === undefined) throw new NotPerformed(`${worldVariable} is not set`, { retry: false });
  return url;
};

/** Asks the outside to do what the tool stands for. Throws for anything but a success. */
export async function request<O extends z.ZodType>(
  tool: Tool<z.ZodType, O>,
  input: unknown,
  { key, abort, callbackUrl }: PerformContext,
): Promise<z.output<O>> {
  return tool.output.parse(await post(tool.name, { key, input, answerTo: callbackUrl }, abort));
}

/** Asks the outside to do something whose answer comes later, by the callback. */
export async function requestLater(tool: Tool, input: unknown, context: PerformContext): Promise<void> {
  await post(tool.name, { key: context.key, input, answerTo: context.callbackUrl }, context.abort);
}

/** Asks the outside whether the effect with this key happened. */
export async function probe<O extends z.ZodType>(
  tool: Tool<z.ZodType, O>,
  key: string,
): Promise<Probe<z.output<O>>> {
  const response = await fetch(`${base()}/probe/${tool.name}?key=${encodeURIComponent(key)}`);
  const found = z.object({ output: z.json().optional() }).parse(await response.json());
  return found.output === undefined
    ? { outcome: "did_not_happen" }
    : { outcome: "happened", output: tool.output.parse(found.output) };
}

async function post(tool: string, body: object, abort: AbortSignal): Promise<unknown> {
  const response = await fetch(`${base()}/${tool}`, {
    method: "POST",
    headers: { "content-type": "application/json", [pidHeader]: String(process.pid) },
    body: JSON.stringify(body),
    signal: abort,
  });
  if (response.status === 400) throw new NotPerformed(await response.text(), { retry: false });
  if (!response.ok) throw new Error(`the outside world answered ${response.status}`);
  return response.json();
}
