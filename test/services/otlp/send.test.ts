/**
 * Goal: a request that may be sent again is sent again, as late as its receiver asks, and nothing else is; what is told of it holds
 * no secret. Method: a receiver over real HTTP that answers badly, and a clock that says how long was waited.
 */
import { describe, expect, test } from "vitest";
import { MeshError } from "../../../protocol/errors.ts";
import { createBatches } from "../../../services/otlp/batches.ts";
import { sendOtlp, type SendDeps } from "../../../services/otlp/send.ts";
import type { OtlpEndpoint } from "../../../services/otlp/settings.ts";
import type { SpanDocument } from "../../../protocol/documents/trace.ts";
import { traceIdOf } from "../../../protocol/trace.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { type OtlpAnswer, startOtlpReceiver } from "../../support/otlp-receiver.ts";

const secret = "Basic planted-secret";
const to = (url: string, more: Partial<OtlpEndpoint> = {}): OtlpEndpoint => ({
  url: `${url}/v1/traces`,
  headers: { authorization: secret },
  timeoutMs: 2_000,
  gzip: false,
  ...more,
});

/** A clock that skips every wait, and what was waited. */
function skipping(patienceMs = 60_000): { deps: SendDeps; waits: number[]; said: string[] } {
  const waits: number[] = [];
  const said: string[] = [];
  let elapsed = 0;
  const clock: SendDeps["clock"] = {
    now: () => Date.now(),
    elapsed: () => elapsed,
    after: () => () => undefined,
    sleep: (ms) => {
      waits.push(ms);
      elapsed += ms;
      return Promise.resolve();
    },
  };
  const { signal } = new AbortController();
  const chance = { random: () => 1 };
  return { deps: { clock, chance, signal, patienceMs, onRetry: (why) => said.push(why) }, waits, said };
}

const caught = (promise: Promise<unknown>): Promise<MeshError> =>
  promise.then(
    () => Promise.reject(new Error("it is to fail")),
    (error: unknown) => (error instanceof MeshError ? error : Promise.reject(error as Error)),
  );

describe("a request", () => {
  test("is a POST of JSON with the headers given, zipped where that is asked for", async () => {
    await using receiver = await startOtlpReceiver();
    const { deps } = skipping();
    await sendOtlp(deps, to(receiver.url), { resourceSpans: [] });
    await sendOtlp(deps, to(receiver.url, { gzip: true }), { resourceSpans: [] });
    for (const { path, headers, body } of receiver.requests) {
      expect({ path, body }).toEqual({ path: "/v1/traces", body: '{"resourceSpans":[]}' });
      expect(headers).toMatchObject({ "content-type": "application/json", authorization: secret });
    }
    expect(receiver.requests.map(({ headers }) => headers["content-encoding"])).toEqual([undefined, "gzip"]);
  });

  test("is sent again after 429, 502, 503 and 504, when the receiver says so or later and later", async () => {
    const answers: OtlpAnswer[] = [
      { status: 429, headers: { "retry-after": "7" } },
      { status: 502 },
      { status: 503 },
      { status: 504 },
      { status: 200 },
    ];
    await using receiver = await startOtlpReceiver((k) => answers[k]!);
    const { deps, waits, said } = skipping();
    await sendOtlp(deps, to(receiver.url), { resourceSpans: [] });
    expect(receiver.requests).toHaveLength(5);
    expect(waits).toEqual([7_000, 2_000, 4_000, 8_000]);
    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1);
    expect(said.join()).not.toContain("planted");
  });

  test.each([400, 401, 403, 404, 413, 500, 302])("that was answered %s is refused, once", async (status) => {
    await using receiver = await startOtlpReceiver(() => ({ status, body: "no such thing" }));
    const error = await caught(sendOtlp(skipping().deps, to(receiver.url), { resourceSpans: [] }));
    expect(error.code).toBe("OTLP_REFUSED");
    expect(error.message).toContain(`answered ${status}: no such thing`);
    expect(`${error.message}${error.stack}`).not.toContain("planted");
    expect(receiver.requests).toHaveLength(1);
  });

  test("nobody answers is sent again until the patience is over", async () => {
    const { deps, waits } = skipping(20_000);
    const error = await caught(sendOtlp(deps, to("http://127.0.0.1:1"), {}));
    expect(error.code).toBe("OTLP_UNREACHABLE");
    expect(error.message).toContain("http://127.0.0.1:1/v1/traces does not answer");
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  test("that is not answered in time is sent again", async () => {
    await using receiver = await startOtlpReceiver((k) =>
      k === 0 ? { status: 200, hang: true } : { status: 200 },
    );
    await sendOtlp(skipping().deps, to(receiver.url, { timeoutMs: 100 }), { resourceSpans: [] });
    expect(receiver.requests).toHaveLength(2);
  });

  test("that was taken in part says how much was not, and is not sent again", async () => {
    const body = '{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}';
    await using receiver = await startOtlpReceiver(() => ({ status: 200, body }));
    const refusal = await sendOtlp(skipping().deps, to(receiver.url), { resourceSpans: [] });
    expect(refusal).toEqual({ count: 3, why: "too old" });
    expect(receiver.requests).toHaveLength(1);
  });

  test.each(["", "<html>", '{"partialSuccess":{}}', "[]"])(
    "taken with the answer %j is taken",
    async (body) => {
      await using receiver = await startOtlpReceiver(() => ({ status: 200, body }));
      expect(await sendOtlp(skipping().deps, to(receiver.url), { resourceSpans: [] })).toBeUndefined();
    },
  );
});

const span = (k: number, more: Partial<SpanDocument> = {}): SpanDocument => ({
  ...{ traceId: traceIdOf("a" as SagaId), spanId: k.toString(16).padStart(16, "0"), flags: "01" },
  ...{ name: `span ${k}`, kind: "internal", saga: "a" as SagaId, start: 1_000, end: 2_000 },
  ...{ status: "unset", attributes: {}, events: [], links: [] },
  ...more,
});

describe("batches", () => {
  const open = (url: string, unsampledToo?: boolean) =>
    createBatches(skipping().deps, {
      ...{ endpoint: to(url), resource: {}, version: "0", onRefusal: () => undefined },
      ...(unsampledToo === undefined ? {} : { unsampledToo }),
    });

  test("hold every span that is over and sampled, once and in order, and no request is too large", async () => {
    await using receiver = await startOtlpReceiver();
    const batches = open(receiver.url);
    const all = Array.from({ length: 1_300 }, (_, k) => span(k + 1));
    await batches.add(all.slice(0, 700));
    await batches.add([span(9_001, { end: undefined }), span(9_002, { flags: "00" }), ...all.slice(700)]);
    await batches.flush();
    expect(receiver.spans().map(({ spanId }) => spanId)).toEqual(all.map(({ spanId }) => spanId));
    expect(receiver.requests.map(({ body }) => (body.match(/"spanId"/g) ?? []).length)).toEqual([
      512, 512, 276,
    ]);
    expect(batches.taken()).toBe(1_300);
    const large = { attributes: { text: "x".repeat(300_000) } };
    await batches.add(Array.from({ length: 9 }, (_, k) => span(k + 5_000, large)));
    await batches.flush();
    for (const { body } of receiver.requests) expect(body.length).toBeLessThan(1_500_000);
  });

  test("hold what is not sampled where a person asked for it", async () => {
    await using receiver = await startOtlpReceiver();
    const batches = open(receiver.url, true);
    await batches.add([span(1, { flags: "00" })]);
    await batches.flush();
    expect(receiver.spans()).toHaveLength(1);
  });
});
