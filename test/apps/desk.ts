/** The desk as it is served. */
import { defineApp } from "sagamesh";
import { clerk } from "./desk-clerk.ts";
import { desk } from "./desk-contract.ts";

export default defineApp({ sagas: [desk], models: { clerk: clerk(({ step }) => `after ${step}`) } });
