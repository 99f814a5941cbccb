/** What hosts and workers serve: `sagamesh up --app app.ts`. */
import { defineApp } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { returnsClerk } from "./agent.ts";
import { decide } from "./script.ts";

export default defineApp({
  sagas: [returnsClerk],
  models: { scripted: scriptedModel("scripted", decide) },
});
