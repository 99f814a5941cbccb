/**
 * Goal: no alert is without a test of promtool's. Method: both files are lists of members, one a line, and are read as such; whether the
 * alerts do what their tests say is `npm run observers`' matter.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
const named = (text: string, form: RegExp): string[] => [...text.matchAll(form)].map(([, name]) => name!);

test("every alert has a test in which it fires, and one in which it does not", () => {
  const alerts = named(read("deploy/prometheus/alerts.yaml"), /^ +- alert: (\w+)$/gm);
  const tests = read("test/observers/alerts.yaml");
  const firing = named(tests, /alertname: (\w+)\n +exp_alerts:\n/g);
  const silent = named(tests, /alertname: (\w+), exp_alerts: \[\]/g);
  expect(alerts.length).toBeGreaterThan(10);
  expect(new Set(firing)).toEqual(new Set(alerts));
  expect(new Set(silent)).toEqual(new Set(alerts));
});
