/** The params of an operation in the version that the client speaks, taken as 1.0's. */
import type * as z from "zod";
import {
  type A2aVersion,
  type OperationName,
  type OperationParams,
  operations,
} from "../../../contracts/a2a/operations.ts";
import { v03Operations } from "../../../contracts/a2a/v03/params.ts";
import { paramsRefused } from "../http/exchange.ts";

const schemas: Record<A2aVersion, Partial<Record<OperationName, z.ZodType>>> = {
  "1.0": operations,
  "0.3": v03Operations,
};

/**
 * `tenant` is what a client of 1.0 must say: that, or nothing. 0.3 knows none. No params are as good as empty ones. Throws
 * `invalid_params`.
 */
export function readParams<O extends OperationName>({
  operation,
  version,
  params,
  tenant,
}: {
  operation: O;
  version: A2aVersion;
  params: unknown;
  tenant: string | undefined;
}): OperationParams<O> {
  const schema = schemas[version][operation] ?? operations[operation];
  const parsed = (schema as z.ZodType<OperationParams<O>>).safeParse(params ?? {});
  if (!parsed.success) throw paramsRefused(parsed.error.issues);
  if (version === "1.0" && parsed.data.tenant !== tenant) {
    throw paramsRefused([{ path: ["tenant"], message: "not the tenant of this interface" }]);
  }
  return parsed.data;
}
