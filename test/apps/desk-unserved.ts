/** The desk without the model it asks: an application with a fault. */
import { defineApp } from "sagamesh";
import { desk } from "./desk-contract.ts";

export default defineApp({ sagas: [desk] });
