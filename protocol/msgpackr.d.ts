// The package ships this entry point without types; it has the same class.
declare module "msgpackr/unpack-no-eval" {
  export { Unpackr } from "msgpackr";
}
