/** Who signed a request, and for what: by its header, or by the query of a presigned URL, which anyone may follow. */
import { sigv4Problem } from "../../doubles/sigv4-check.ts";
import type { Received } from "../../doubles/web-server.ts";

export type SignedBy = { accessKeyId: string; region: string; service: string; isPresigned: boolean };

/** All empty where nobody did. */
export function signedBy({ request, target }: Received): SignedBy {
  const [, header = ""] = /Credential=([^,]+)/.exec(request.headers.get("authorization") ?? "") ?? [];
  const presigned = new URL(target, "http://aws").searchParams.get("X-Amz-Credential");
  const [accessKeyId = "", , region = "", service = ""] = (presigned ?? header).split("/");
  return { accessKeyId, region, service, isPresigned: presigned !== null };
}

/** As `sigv4Problem`. A request that was signed before the clock moved, and arrived then, is in time too. */
export function sigv4ProblemAt({
  arrivedMs,
  ...request
}: Omit<Parameters<typeof sigv4Problem>[0], "nowMs"> & { arrivedMs: number }): string | undefined {
  const problem = sigv4Problem({ ...request, nowMs: Date.now() });
  return problem === "stale" ? sigv4Problem({ ...request, nowMs: arrivedMs }) : problem;
}
