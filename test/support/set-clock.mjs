/**
 * Loaded before a process's own code: its machine's time of day is off by as many milliseconds as the file SET_CLOCK says, from
 * the moment that it says so. The clock that nothing sets stays as it is, as on a machine whose clock is set.
 */
import { readFileSync } from "node:fs";

const file = process.env["SET_CLOCK"] ?? "";
const trueNow = Date.now;
let offMs = Number(readFileSync(file, "utf8"));
Date.now = () => trueNow() + offMs;
setInterval(() => (offMs = Number(readFileSync(file, "utf8") || offMs)), 20).unref();
