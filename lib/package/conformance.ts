/** The entry `./conformance`: runs the cases of docs/reference/conformance.md, for instance from a test. */
export * from "../cli/conformance/conformance.ts";
export type { Sender } from "../cli/conformance/sender.ts";
