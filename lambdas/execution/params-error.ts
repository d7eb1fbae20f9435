/** The error for params that do not fit, which every protocol of the host answers alike. */
import { SekishoError } from "@sekisho/contracts/errors.ts";

const maxIssues = 20;

/** Lists where the params are wrong and why. zod's messages never repeat a value, so they are safe to send. */
export function createParamsError(
  issues: readonly { path: readonly PropertyKey[]; message: string }[],
): SekishoError {
  const listedIssues = issues
    .slice(0, maxIssues)
    .map(({ path, message }) => ({ path: path.join("."), message }));
  return new SekishoError("invalid_params", { details: { issues: listedIssues } });
}
