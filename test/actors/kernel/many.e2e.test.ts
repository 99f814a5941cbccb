/**
 * Goal: what holds of three holds of 5,000, and costs in proportion. Method: as many.test.ts.
 */
import { tellTales } from "../../support/many-tales.ts";

tellTales(500);
