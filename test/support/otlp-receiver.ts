/**
 * A receiver of OpenTelemetry's protocol for tests: it takes what comes over HTTP, answers as it is told, and keeps it.
 *
 * It is a model of a receiver's manners, not of its reading: what the official definitions make of a body is
 * test/services/otlp/collector.e2e.test.ts's matter.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

/** How a request is answered; `hang`: never. */
export interface OtlpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly hang?: true;
}

export interface TakenSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly requests: {
    readonly path: string;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }[];
  /** Of every request that was answered with 200, in order. */
  spans(): TakenSpan[];
}

interface Body {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly TakenSpan[] }[];
  }[];
}

/** Listens on a free port. `answer` is asked with the number of the request, from 0; 200 unless given. */
export async function startOtlpReceiver(
  answer: (request: number) => OtlpAnswer = () => ({ status: 200, body: "{}" }),
): Promise<OtlpReceiver> {
  const requests: OtlpReceiver["requests"] = [];
  const taken: TakenSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const whole = Buffer.concat(chunks);
      const isZipped = request.headers["content-encoding"] === "gzip";
      const body = (isZipped ? gunzipSync(whole) : whole).toString();
      const { status, headers = {}, body: said = "{}", hang } = answer(requests.length);
      requests.push({ path: request.url ?? "", headers: request.headers, body });
      if (hang === true) return;
      if (status === 200)
        for (const { scopeSpans } of (JSON.parse(body) as Body).resourceSpans ?? [])
          for (const { spans } of scopeSpans) taken.push(...spans);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(said);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    spans: () => taken,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
