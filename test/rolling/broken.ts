/** A new version that dies while it starts, after it has connected: its own code throws a moment after it was loaded. */
import { defineApp } from "../../services/app/app.ts";
import { office } from "./office.ts";

setTimeout(
  () => {
    throw new Error("the new version cannot start");
  },
  Number(process.env["ROLLING_DIES_MS"] ?? "300"),
);

export default defineApp(office(2));
