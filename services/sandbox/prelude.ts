/**
 * Prelude: what runs inside the sandbox before the code, and calls it. Source text: QuickJS reads it, Node never does.
 *
 * XP1 It keeps what it uses later to itself, so code that changes a prototype spoils only its own answer.
 */
export const prelude = `(() => {
  "use strict";
  const { parse, stringify } = JSON;
  const { apply, construct, getPrototypeOf } = Reflect;
  const text = String;
  const slice = String.prototype.slice;
  const then = Promise.prototype.then;
  const AsyncFunction = getPrototypeOf(async () => {}).constructor;
  const RealDate = Date;
  const RealError = Error;

  const noClock = () => {
    throw new RealError("there is no clock in the sandbox: pass the time in input, as milliseconds or ISO text");
  };
  const shown = (value) => {
    try {
      return typeof value === "string" ? value : (stringify(value) ?? text(value));
    } catch {
      try { return text(value); } catch { return "[a value that has no text]"; }
    }
  };
  const reasonOf = (error) => {
    try {
      if (error === null) return "thrown: null, as QuickJS does when it has no memory left for an error";
      if (typeof error !== "object" || !("message" in error)) return "thrown: " + shown(error);
      const where = typeof error.stack === "string" ? "\\n" + apply(slice, error.stack, [0, 600]) : "";
      return apply(slice, text(error.name) + ": " + text(error.message), [0, 2000]) + where;
    } catch { return "thrown: [a value that has no text]"; }
  };

  return (code, input, say, done, fail, a, b, c, d) => {
    // sfc32: small, fast, and the same everywhere.
    Math.random = () => {
      const t = (((a + b) | 0) + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = ((c << 21) | (c >>> 11)) + t | 0;
      return (t >>> 0) / 4294967296;
    };
    RealDate.now = noClock;
    globalThis.Date = new Proxy(RealDate, {
      apply: noClock,
      construct: (date, given, target) => (given.length === 0 ? noClock() : construct(date, given, target)),
    });
    RealDate.prototype.constructor = globalThis.Date;
    const log = (...values) => {
      let line = "";
      for (let i = 0; i < values.length; i++) line += (i === 0 ? "" : " ") + shown(values[i]);
      say(apply(slice, line, [0, 20000]));
    };
    globalThis.console = { log, info: log, warn: log, error: log, debug: log };
    try {
      apply(then, new AsyncFunction("input", code)(parse(input)), [
        (value) => {
          try { done(stringify(value) ?? "null"); } catch (error) { fail("its value is no JSON: " + reasonOf(error)); }
        },
        (error) => fail(reasonOf(error)),
      ]);
    } catch (error) { fail(reasonOf(error)); }
  };
})()`;
