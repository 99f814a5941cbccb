/** The desk's next version, beside the one before it: other instructions. */
import { defineApp } from "sagamesh";
import { clerk } from "./desk-clerk.ts";
import { desk, deskWith } from "./desk-contract.ts";

const next = deskWith({ version: 2, instructions: "Run the errand kindly, then finish." });

export default defineApp({ sagas: [desk, next], models: { clerk: clerk(() => "kindly") } });
