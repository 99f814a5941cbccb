/** The application as it is to be: version 2, and version 1 for what sleeps. */
import { defineApp } from "../../services/app/app.ts";
import { office } from "./office.ts";

const [former, present] = [office(1), office(2)];

export default defineApp({
  sagas: [...former.sagas, ...present.sagas],
  models: { ...former.models, ...present.models },
});
