/** The same desk with a clerk who ends in other words. */
import { defineApp } from "sagamesh";
import { clerk } from "./desk-clerk.ts";
import { desk } from "./desk-contract.ts";

export default defineApp({ sagas: [desk], models: { clerk: clerk(() => "as you wish") } });
