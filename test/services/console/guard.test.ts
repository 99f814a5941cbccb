/**
 * Goal: nobody but this machine's own pages is answered without the token, and no other site's page acts or reads.
 * Method: requests as browsers and others send them, each but for one thing right.
 */
import { describe, expect, test } from "vitest";
import { actHeader, createGuard, isLoopback } from "../../../services/console/guard.ts";

const token = "a token of some length";
const own = { host: "127.0.0.1:8787" };
const read = { method: "GET", isApi: true, isAdmission: false };
const act = { method: "POST", isApi: true, isAdmission: false };
const status = (guard: ReturnType<typeof createGuard>, request: Parameters<typeof guard.refusalOf>[0]) =>
  guard.refusalOf(request)?.status ?? 200;

describe("without a token", () => {
  const guard = createGuard(undefined);
  test.each(["127.0.0.1:8787", "localhost:8787", "[::1]:8787", "localhost"])("%s is answered", (host) => {
    expect(status(guard, { ...read, headers: { host } })).toBe(200);
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

describe("with a token", () => {
  const guard = createGuard(token);
  const host = "console.example:8787";
  test("nothing of the mesh is answered before it was shown, and the page is", () => {
    expect(status(guard, { ...read, headers: { host } })).toBe(401);
    expect(status(guard, { ...read, isApi: false, headers: { host } })).toBe(200);
    expect(
      status(guard, { ...read, headers: { host, authorization: "Bearer another token, as long" } }),
    ).toBe(401);
    expect(status(guard, { ...read, headers: { host, authorization: `Bearer ${token}` } })).toBe(200);
  });
  test("a browser that has shown it keeps what does not hold it, and is let in by that alone", () => {
    expect(guard.admit("another")).toBeUndefined();
    const cookie = guard.admit(token) ?? "";
    expect(cookie).not.toContain(token);
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
    const [pair = ""] = cookie.split(";");
    expect(status(guard, { ...read, headers: { host, cookie: `other=1; ${pair}` } })).toBe(200);
    expect(status(guard, { ...read, headers: { host, cookie: `${pair}x` } })).toBe(401);
    expect(status(createGuard("another token, as long"), { ...read, headers: { host, cookie: pair } })).toBe(
      401,
    );
  });
  test("showing it is an act too, which no other site's page can do", () => {
    const showing = { ...act, isAdmission: true };
    expect(status(guard, { ...showing, headers: { host } })).toBe(403);
    expect(status(guard, { ...showing, headers: { host, [actHeader]: "1" } })).toBe(200);
  });
});

test("only addresses of this machine alone count as such", () => {
  expect(["127.0.0.1", "127.8.8.8", "::1", "localhost"].filter(isLoopback)).toHaveLength(4);
  expect(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "example"].filter(isLoopback)).toEqual([]);
});
