/** The application as it was: version 1 alone. */
import { defineApp } from "../../services/app/app.ts";
import { office } from "./office.ts";

export default defineApp(office(1));
