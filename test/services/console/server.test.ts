/**
 * Goal: the door of the console: what every answer says to a browser, what is refused before it is looked at, and that slow,
 * endless and oversized requests end.
 * Method: the real server on a free port, over the mesh in memory, asked as browsers and others ask; raw sockets where a
 * client would be too polite.
 */
import { once } from "node:events";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { limits } from "../../../protocol/limits.ts";
import { createGuard, type Doors } from "../../../services/console/guard.ts";
import { consoleOn } from "../../../services/console/parts.ts";
import { proxySecretHeader } from "../../../services/console/proxied.ts";
import { routes } from "../../../services/console/routes.ts";
import { type Console, startConsole } from "../../../services/console/server.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { systemClock } from "../../../services/runtime/system.ts";

const open: Console[] = [];
const folders: string[] = [];
const passing = new Set<unknown>();
afterEach(async () => {
  passing.clear();
  for (const one of open.splice(0)) await one.close(0);
  for (const one of folders.splice(0)) await rm(one, { recursive: true, force: true });
});

async function pageFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-page-"));
  folders.push(folder);
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), "<!doctype html><title>page</title>");
  await writeFile(join(folder, "assets", "main-1.js"), `export const a = "${"x".repeat(5_000)}";`);
  return folder;
}

async function start({ doors = {}, isOpen = true }: { doors?: Doors; isOpen?: boolean } = {}) {
  const folder = await pageFolder();
  const console = await startConsole({
    ...{ host: "127.0.0.1", port: 0, guard: createGuard(doors), page: async () => folder },
  });
  open.push(console);
  const mesh = createMemoryMesh({ seed: 1 });
  passing.add(mesh);
  void goOn(mesh);
  const { ports, chance } = mesh.spawn("console");
  const me = { from: "tester", server: "nats://x", version: "0" };
  const deps = { ports, chance, clock: systemClock, from: "tester" };
  if (isOpen) console.open(consoleOn(deps, me, silentLog, looks));
  return console;
}

/** Nothing here asks of the whole mesh. */
const looks = {
  app: undefined,
  examine: () => Promise.reject(new Error("no doctor here")),
  tables: { dialect: "sqlite", ask: () => Promise.reject(new Error("no tables here")) } as const,
  archives: { folder: "/nowhere", signer: () => undefined },
  remembering: async () => undefined,
};

/** The mesh's own time passes while the test's does. */
async function goOn(mesh: ReturnType<typeof createMemoryMesh>): Promise<void> {
  while (passing.has(mesh)) {
    await mesh.clock.advance(20);
    await setImmediate();
  }
}

const acting = { "content-type": "application/json", "x-sagamesh-console": "1" };

describe("every answer", () => {
  test("forbids all that is not the console's own", async () => {
    const { url } = await start();
    for (const path of [
      "/",
      "/sagas/anything",
      "/assets/main-1.js",
      "/assets/none.js",
      "/api/me",
      "/api/none",
    ]) {
      const { headers } = await fetch(`${url}${path}`);
      expect(headers.get("content-security-policy"), path).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self'.*frame-ancestors 'none'.*trusted-types 'none'$/,
      );
      expect(headers.get("x-content-type-options"), path).toBe("nosniff");
      expect(headers.get("access-control-allow-origin"), path).toBeNull();
    }
  });

  test("is the page under every address of a view, and its assets are kept by browsers", async () => {
    const { url } = await start();
    const view = await fetch(`${url}/sagas/x?tab=graph`);
    expect([view.status, view.headers.get("cache-control"), await view.text()]).toEqual([
      200,
      "no-cache",
      "<!doctype html><title>page</title>",
    ]);
    const asset = await fetch(`${url}/assets/main-1.js`);
    expect(asset.headers.get("content-encoding")).toBe("gzip");
    expect(asset.headers.get("cache-control")).toContain("immutable");
    expect((await fetch(`${url}/assets/other.js`)).status).toBe(404);
  });
});

describe("what is refused", () => {
  test("an unknown path, another method, and what cannot be read", async () => {
    const { url } = await start();
    const codeOf = async (path: string, options?: RequestInit) => {
      const response = await fetch(`${url}/api${path}`, options);
      const said = (await response.json()) as { error: { code: string } };
      return [response.status, said.error.code];
    };
    expect(await codeOf("/nothing")).toEqual([404, "USAGE"]);
    expect(await codeOf("/sagas", { method: "POST", headers: acting, body: "{}" })).toEqual([405, "USAGE"]);
    expect(await codeOf("/sagas/nobody")).toEqual([404, "SAGA_UNKNOWN"]);
    expect(await codeOf("/sagas/NO.ID")).toEqual([400, "BAD_ID"]);
    expect(await codeOf("/sagas?limit=many")).toEqual([400, "USAGE"]);
    const signal = (body: string) =>
      codeOf("/sagas/nobody/signals", { method: "POST", headers: acting, body });
    expect(await signal("{")).toEqual([400, "BAD_JSON"]);
    expect(await signal("[]")).toEqual([400, "USAGE"]);
    expect(await signal('{"name":"cancel"}')).toEqual([400, "USAGE"]);
    expect(await signal('{"name":"cancel","id":"12345678"}')).toEqual([404, "SAGA_UNKNOWN"]);
    expect(await signal(`{"name":"${"x".repeat(limits.callbackBytesMax)}"}`)).toEqual([413, "TOO_LARGE"]);
  });

  test("an act without the page's own header, before anything of it is read", async () => {
    const { url } = await start();
    const response = await fetch(`${url}/api/sagas/x/signals`, { method: "POST", body: "{}" });
    expect(response.status).toBe(403);
  });

  test("another name that was made to lead here", async () => {
    const { port } = await start();
    const asked = request({ port, path: "/api/me", headers: { host: "evil.example" } }).end();
    const [response] = (await once(asked, "response")) as [{ statusCode: number }];
    expect(response.statusCode).toBe(421);
  });

  test("everything of the mesh while the console is not open yet; the page is there", async () => {
    const { url } = await start({ isOpen: false });
    expect((await fetch(`${url}/api/me`)).status).toBe(503);
    expect((await fetch(`${url}/api/changes`)).status).toBe(503);
    expect((await fetch(url)).status).toBe(200);
  });

  test("without the token every document, every act and the stream", async () => {
    const token = "a token of some length";
    const { url } = await start({ doors: { actToken: token } });
    for (const path of ["/me", "/sagas", "/tasks", "/changes"])
      expect((await fetch(`${url}/api${path}`)).status, path).toBe(401);
    const shown = (said: string) =>
      fetch(`${url}/api/session`, { method: "POST", headers: acting, body: JSON.stringify({ token: said }) });
    expect((await shown("another token, as long")).status).toBe(401);
    const cookie = (await shown(token)).headers.get("set-cookie")?.split(";")[0] ?? "";
    expect((await fetch(`${url}/api/me`, { headers: { cookie } })).status).toBe(200);
  });
});

/** A path that a route takes. */
function pathFor(route: RegExp): string {
  const path = route.source
    .replace(/^\^|\$$/g, "")
    .replaceAll("\\/", "/")
    .replaceAll(/\(([a-z]+)\|[^)]*\)/g, "$1")
    .replaceAll("([^/]+)", "one-1")
    .replaceAll(/\(\\d[^)]*\)/g, "7");
  expect(path, `a path for ${route.source}`).toMatch(route);
  return path;
}

describe("every route", () => {
  const secret = "what the proxy and it share";
  const doors: Doors = {
    ...{ actToken: "a token of some length", lookToken: "another one that looks" },
    proxy: {
      ...{ userHeader: "x-user", groupsHeader: undefined, secret },
      acting: { everybody: false, names: new Set(["ann"]), groups: new Set() },
    },
  };
  const roles: Readonly<
    Record<string, { mayLook: boolean; mayAct: boolean; headers: Record<string, string> }>
  > = {
    nobody: { mayLook: false, mayAct: false, headers: {} },
    liar: { mayLook: false, mayAct: false, headers: { "x-user": "ann" } },
    looks: { mayLook: true, mayAct: false, headers: { authorization: "Bearer another one that looks" } },
    acts: { mayLook: true, mayAct: true, headers: { authorization: "Bearer a token of some length" } },
    named: { mayLook: true, mayAct: false, headers: { "x-user": "bo", [proxySecretHeader]: secret } },
    operator: { mayLook: true, mayAct: true, headers: { "x-user": "ann", [proxySecretHeader]: secret } },
  };
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

  test.each(Object.entries(roles))(
    "for %s tells and does what that one may, by every method",
    async (_, role) => {
      const { url } = await start({ doors });
      const paths = [...new Set(routes.map(([, path]) => pathFor(path)))];
      expect(paths.length).toBeGreaterThan(15);
      for (const path of paths)
        for (const method of methods) {
          const isReading = method === "GET";
          const response = await fetch(`${url}/api${path}`, {
            method,
            headers: { ...acting, ...role.headers },
            ...(isReading ? {} : { body: "[]" }), // No act takes it: who may act is told so, and nothing is done.
          });
          const said = (await response.json()) as { error?: { code: string } };
          const about = `${method} ${path}`;
          if (!role.mayLook) expect(response.status, about).toBe(401);
          else if (!isReading && !role.mayAct)
            expect([response.status, said.error?.code], about).toEqual([403, "ACT_REFUSED"]);
          else {
            const isTaken = routes.some(([of, route]) => of === method && route.test(path));
            if (isTaken) expect([401, 403, 405], about).not.toContain(response.status);
            else expect(response.status, about).toBe(405);
          }
        }
    },
  );

  test("names the one whom the proxy names, and refuses them another's voice", async () => {
    const { url } = await start({ doors });
    const headers = { ...acting, ...roles["operator"]?.headers };
    expect(await (await fetch(`${url}/api/me`, { headers })).json()).toEqual({
      ...{ from: "ann", server: "nats://x", version: "0" },
      ...{ by: "proxy", mayAct: true, name: "ann", groups: [] },
    });
    for (const other of [{ by: "bo" }, { by: "ann", as: "finance" }]) {
      const body = JSON.stringify({ vote: "approve", ...other });
      const response = await fetch(`${url}/api/tasks/one-1/2-0`, { method: "POST", headers, body });
      const said = (await response.json()) as { error: { code: string } };
      expect([response.status, said.error.code]).toEqual([403, "ACT_REFUSED"]);
    }
  });
});

describe("what costs", () => {
  test("a request that never ends its headers is cut off", { timeout: 30_000 }, async () => {
    const { port } = await start();
    const socket = connect(port, "127.0.0.1", () =>
      socket.write("GET /api/me HTTP/1.1\r\nhost: 127.0.0.1\r\nx: "),
    );
    const [heard] = (await once(socket, "data")) as [Buffer];
    expect(heard.toString()).toContain("408");
    socket.destroy();
  });

  test("a hundred streams are told, and the next one is told to come again", async () => {
    const { url } = await start();
    const over = new AbortController();
    const streams = await Promise.all(
      Array.from({ length: 100 }, () => fetch(`${url}/api/changes`, { signal: over.signal })),
    );
    expect(streams.every(({ status }) => status === 200)).toBe(true);
    const first = await streams[0]?.body?.getReader().read();
    expect(Buffer.from(first?.value ?? []).toString()).toContain("retry: 1000");
    expect((await fetch(`${url}/api/changes`)).status).toBe(503);
    over.abort();
  });
});
