/** What params that do not fit are refused with. */
import { SekishoError } from "../../../contracts/errors.ts";

const maxIssues = 20;

/** Where and what is wrong, in zod's fixed words, which repeat no value. */
export function paramsRefused(issues: readonly { path: readonly PropertyKey[]; message: string }[]): SekishoError {
  const told = issues.slice(0, maxIssues).map(({ path, message }) => ({ path: path.join("."), message }));
  return new SekishoError("invalid_params", { details: { issues: told } });
}
