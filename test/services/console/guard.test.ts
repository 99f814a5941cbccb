/**
 * Goal: nobody but this machine's own pages is answered without a token or the proxy's word, no other site's page acts or reads, and
 * who may look alone gets no act through.
 * Method: requests as browsers, proxies and others send them, each but for one thing right; and for every mixture of doors and of
 * what a request shows, the answer that the rules give.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { actHeader, createGuard, type Doors, isLoopback } from "../../../services/console/guard.ts";
import { type ProxyDoor, proxySecretHeader } from "../../../services/console/proxied.ts";

const token = "a token of some length";
const looking = "another one that looks";
const own = { host: "127.0.0.1:8787" };
const read = { method: "GET", isApi: true, isAdmission: false };
const act = { method: "POST", isApi: true, isAdmission: false };
type Guard = ReturnType<typeof createGuard>;
const judged = (guard: Guard, request: Parameters<Guard["judge"]>[0]) => guard.judge(request);
const status = (guard: Guard, request: Parameters<Guard["judge"]>[0]) => {
  const said = judged(guard, request);
  return "refusal" in said ? said.refusal.status : 200;
};
const code = (guard: Guard, request: Parameters<Guard["judge"]>[0]) => {
  const said = judged(guard, request);
  if (!("refusal" in said)) return undefined;
  return (JSON.parse(String(said.refusal.body)) as { error: { code: string } }).error.code;
};

describe("without a token", () => {
  const guard = createGuard({});
  test.each(["127.0.0.1:8787", "localhost:8787", "[::1]:8787", "localhost"])("%s is answered", (host) => {
    expect(judged(guard, { ...read, headers: { host } })).toEqual({ by: "machine", mayAct: true });
  });
  test.each(["evil.example", "127.0.0.1.evil.example:8787", "10.0.0.7:8787", ""])(
    "another name that leads here is refused: %s",
    (host) => {
      expect(status(guard, { ...read, headers: { host } })).toBe(421);
      expect(status(guard, { ...read, isApi: false, headers: { host } })).toBe(421);
    },
  );
  test("a page of another site neither reads nor acts", () => {
    const acting = { ...own, [actHeader]: "1" };
    for (const more of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:9999" },
    ]) {
      expect(status(guard, { ...read, headers: { ...own, ...more } })).toBe(403);
      expect(status(guard, { ...act, headers: { ...acting, ...more } })).toBe(403);
    }
    const origin = "http://127.0.0.1:8787";
    expect(status(guard, { ...act, headers: { ...acting, origin, "sec-fetch-site": "same-origin" } })).toBe(
      200,
    );
  });
  test("an act that a form could send is refused", () => {
    expect(status(guard, { ...act, headers: own })).toBe(403);
    expect(status(guard, { ...act, headers: { ...own, "content-type": "text/plain" } })).toBe(403);
  });
});

describe("with tokens", () => {
  const guard = createGuard({ actToken: token, lookToken: looking });
  const host = "console.example:8787";
  test("nothing of the mesh is answered before one was shown, and the page is", () => {
    expect(status(guard, { ...read, headers: { host } })).toBe(401);
    expect(status(guard, { ...read, isApi: false, headers: { host } })).toBe(200);
    expect(
      status(guard, { ...read, headers: { host, authorization: "Bearer another token, as long" } }),
    ).toBe(401);
    expect(status(guard, { ...read, headers: { host, authorization: `Bearer ${token}` } })).toBe(200);
  });
  test("a browser that has shown one keeps what does not hold it, and is let in by that alone", () => {
    expect(guard.admit("another")).toBeUndefined();
    for (const [shown, mayAct] of [
      [token, true],
      [looking, false],
    ] as const) {
      const cookie = guard.admit(shown) ?? "";
      expect(cookie).not.toContain(shown);
      expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
      const [pair = ""] = cookie.split(";");
      expect(judged(guard, { ...read, headers: { host, cookie: `other=1; ${pair}` } })).toEqual({
        by: "token",
        mayAct,
      });
      expect(status(guard, { ...read, headers: { host, cookie: `${pair}x` } })).toBe(401);
      const other = createGuard({ actToken: "another token, as long" });
      expect(status(other, { ...read, headers: { host, cookie: pair } })).toBe(401);
    }
  });
  test("showing it is an act too, which no other site's page can do", () => {
    const showing = { ...act, isAdmission: true };
    expect(status(guard, { ...showing, headers: { host } })).toBe(403);
    expect(status(guard, { ...showing, headers: { host, [actHeader]: "1" } })).toBe(200);
  });
  test("the one that looks reads, and every act of it is refused by a code of its own", () => {
    const headers = { host, authorization: `Bearer ${looking}`, [actHeader]: "1" };
    expect(status(guard, { ...read, headers })).toBe(200);
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "get"]) {
      expect(status(guard, { ...act, method, headers }), method).toBe(403);
      expect(code(guard, { ...act, method, headers }), method).toBe("ACT_REFUSED");
    }
  });
});

describe("behind a proxy", () => {
  const secret = "what the proxy and it share";
  const proxy: ProxyDoor = {
    ...{ userHeader: "x-forwarded-user", groupsHeader: "x-forwarded-groups", secret },
    acting: { everybody: false, names: new Set(["ann@example.org"]), groups: new Set(["ops"]) },
  };
  const guard = createGuard({ proxy });
  const host = "console.example";
  const from = (user: string, groups = "", sent = secret) => ({
    ...{ host, [proxySecretHeader]: sent, "x-forwarded-user": user, "x-forwarded-groups": groups },
    [actHeader]: "1",
  });
  test("whom it names may look, and act where they or a group of theirs may", () => {
    expect(judged(guard, { ...act, headers: from("ann@example.org") })).toEqual({
      ...{ by: "proxy", name: "ann@example.org", groups: [], mayAct: true },
    });
    expect(judged(guard, { ...act, headers: from("bo", "finance, ops") })).toMatchObject({
      ...{ name: "bo", groups: ["finance", "ops"], mayAct: true },
    });
    expect(judged(guard, { ...read, headers: from("bo", "finance") })).toMatchObject({ mayAct: false });
    expect(code(guard, { ...act, headers: from("bo", "finance") })).toBe("ACT_REFUSED");
  });
  test("its headers without its secret name nobody, also from this machine itself", () => {
    for (const headers of [
      from("ann@example.org", "ops", "another secret, as long"),
      from("ann@example.org", "ops", ""),
      { ...own, "x-forwarded-user": "ann@example.org", [actHeader]: "1" },
      { ...own, [actHeader]: "1" },
    ])
      expect(status(guard, { ...read, headers })).toBe(401);
  });
  test("a name that came twice, is missing or is none names nobody; a name is never taken for a group or for all", () => {
    for (const user of ["", "ann@example.org, bo", "a\tb", " ", "é", "x".repeat(300)])
      expect(status(guard, { ...read, headers: from(user) }), user).toBe(401);
    for (const user of ["group:ops", "*", "ops"])
      expect(judged(guard, { ...read, headers: from(user) })).toMatchObject({ name: user, mayAct: false });
  });
  test("a token beside it lets in who shows one, and the proxy's word goes before it", () => {
    const both = createGuard({ proxy, actToken: token });
    const bearer = { authorization: `Bearer ${token}` };
    expect(judged(both, { ...act, headers: { host, ...bearer, [actHeader]: "1" } })).toEqual({
      ...{ by: "token", mayAct: true },
    });
    expect(code(both, { ...act, headers: { ...from("bo"), ...bearer } })).toBe("ACT_REFUSED");
  });

  test("whatever doors there are and whatever is shown, an act gets through only to whom a door gives it", () => {
    const doors = fc.record({
      actToken: fc.constantFrom(undefined, token),
      lookToken: fc.constantFrom(undefined, looking),
      proxy: fc.constantFrom(undefined, proxy),
    });
    const shown = fc.record({
      bearer: fc.constantFrom("", token, looking, "another one, as long as it"),
      cookieOf: fc.constantFrom("", token, looking),
      secret: fc.constantFrom("", secret, "not the secret at all"),
      user: fc.constantFrom("", "ann@example.org", "bo", "bo, ann@example.org"),
      groups: fc.constantFrom("", "ops", "finance,ops", "finance"),
      method: fc.constantFrom("GET", "POST", "DELETE"),
      isOurs: fc.boolean(),
    });
    fc.assert(
      fc.property(
        doors,
        shown,
        (given: Doors, { bearer, cookieOf, user, groups, method, isOurs, ...said }) => {
          const any = createGuard(given);
          const headers = {
            ...{ host: "127.0.0.1", [proxySecretHeader]: said.secret },
            ...{ "x-forwarded-user": user, "x-forwarded-groups": groups },
            authorization: `Bearer ${bearer}`,
            cookie: any.admit(cookieOf)?.split(";")[0] ?? "",
            ...(isOurs ? { [actHeader]: "1" } : {}),
          };
          const told = any.judge({ method, headers, isApi: true, isAdmission: false });
          const isOpen = given.actToken === undefined && given.lookToken === undefined && !given.proxy;
          const isNamed = given.proxy && said.secret === secret && ["ann@example.org", "bo"].includes(user);
          const showsAct = given.actToken !== undefined && [bearer, cookieOf].includes(token);
          const showsLook = given.lookToken !== undefined && [bearer, cookieOf].includes(looking);
          // Of two that are shown the one that acts counts: it is looked for first.
          const mayAct = isNamed ? user === "ann@example.org" || groups.includes("ops") : isOpen || showsAct;
          const mayLook = isOpen || isNamed === true || showsAct || showsLook;
          const isReading = method === "GET";
          const expected =
            !isReading && !isOurs ? 403 : !mayLook ? 401 : !isReading && !mayAct ? 403 : mayAct;
          expect("refusal" in told ? told.refusal.status : told.mayAct).toBe(expected);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

test("only addresses of this machine alone count as such", () => {
  expect(["127.0.0.1", "127.8.8.8", "::1", "localhost"].filter(isLoopback)).toHaveLength(4);
  expect(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "example"].filter(isLoopback)).toEqual([]);
});
