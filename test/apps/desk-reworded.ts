/** The desk with another first message, under its own hash: a function's text is not part of it. */
import { defineApp } from "sagamesh";
import { clerk } from "./desk-clerk.ts";
import { deskWith } from "./desk-contract.ts";

const desk = deskWith({ prompt: (input) => `Please: ${JSON.stringify(input)}` });

export default defineApp({ sagas: [desk], models: { clerk: clerk(() => "reworded") } });
