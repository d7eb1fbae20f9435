/** Further paths of the Execution host, on which it writes errors in another dialect. */
import * as z from "zod";
import { dialectSchema } from "../../../contracts/dialects.ts";

/** What the host serves without being told; below `/.well-known` no path is free either. */
const servedPaths = ["/", "/a2a", "/invocations", "/ping", "/healthz", "/openrpc.json", "/metrics"];

const pathSchema = z
  .string()
  .max(256)
  .regex(
    /^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$|^\/$/,
    'a path such as "/vapora": letters, digits and . _ ~ - after each slash, none at the end',
  )
  .refine((path) => !servedPaths.includes(path), "the host serves this path already; choose another");

export const dialectPathsSchema = z.record(pathSchema, dialectSchema);
