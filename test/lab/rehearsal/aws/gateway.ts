/**
 * The AWS of a rehearsal at one loopback address. Every call must be signed with the caller's own credentials and allowed by the
 * templates. Then an emulator or a stub answers. A refusal looks as on AWS, and fails the rehearsal.
 */
import { presignedProblem } from "../../../doubles/aws/s3-check.ts";
import { sigv4Problem } from "../../../doubles/sigv4-check.ts";
import { type Received, startWebServer, type WebServer } from "../../../doubles/web-server.ts";
import { clock } from "../clock.ts";
import type { Authority } from "../iam/authority.ts";
import type { Caller } from "./callers.ts";
import { awsFailure } from "./failure.ts";
import type { Implied } from "./implied.ts";
import { type AwsCall, readCall } from "./read-call.ts";

/** Answers a call that was allowed. */
export type Backend = (request: {
  call: AwsCall;
  received: Received;
  caller: Caller;
}) => Promise<Response>;

export type RecordedCall = Pick<AwsCall, "action" | "resources" | "context"> & {
  caller: string;
  kind: Caller["kind"];
};

/** Returns a response that replaces the service's own, or undefined to let the call pass. It may also change the input. */
export type Fault = (request: {
  call: AwsCall;
  caller: Caller;
  text: string;
}) => Response | undefined;

export type Gateway = WebServer & {
  register(caller: Caller): void;
  /** All allowed calls, in order. */
  calls: RecordedCall[];
  faults: Set<Fault>;
};

export async function startGateway({
  authority,
  implied,
  backends,
  endpointArn = ({ runtimeArn }) => runtimeArn,
  onProblem,
}: {
  authority: Authority;
  implied: Implied;
  /** By the service's signing name. */
  backends: Record<string, Backend>;
  endpointArn?: (request: { runtimeArn: string; qualifier: string }) => string;
  onProblem: (problem: string) => void;
}): Promise<Gateway> {
  const callers = new Map<string, Caller>();
  const calls: RecordedCall[] = [];
  const faults = new Set<Fault>();

  async function handle(httpCall: Received): Promise<Response> {
    const { request, target, body } = httpCall;
    const arrivedMs = Date.now();
    await clock.settled();
    // A presigned URL can do what its signer can, whoever follows it.
    const { accessKeyId, region, service: signedFor, isPresigned } = signedBy(httpCall);
    const caller = callers.get(accessKeyId);
    if (caller === undefined)
      return refuse("", "InvalidClientTokenId", `Someone unknown called ${target}.`);
    const call = readCall({
      received: httpCall,
      service: signedFor,
      place: { account: caller.account, region, homeRegion: caller.region },
      endpointArn,
    });
    if (call === undefined)
      return refuse(
        "",
        "UnknownOperationException",
        `${caller.name} called ${request.method} ${target}, not AWS.`,
      );
    const { service, action, resources, permissions = [action], context = {} } = call;
    const { credentials } = caller;
    const bad = isPresigned
      ? presignedProblem({ received: httpCall, credentials, region, nowMs: Date.now() })
      : sigv4ProblemAt({ received: httpCall, credentials, service, region, arrivedMs });
    if (bad !== undefined)
      return refuse(
        service,
        "InvalidSignatureException",
        `${caller.name} signed ${action} wrongly: ${bad}.`,
      );
    const wrongRegion = resources.find(
      (arn) => ![region, ""].includes(arn.split(":")[3] ?? region),
    );
    if (wrongRegion !== undefined)
      return refuse(
        service,
        "ResourceNotFoundException",
        `${caller.name} looked for ${wrongRegion} in ${region}.`,
      );
    const own = resources.flatMap((resource) =>
      permissions.map((action) => ({ action, resource, context })),
    );
    const needed = [...own, ...implied(call)];
    for (const need of needed) {
      const principal = { type: "role", arn: caller.roleArn, account: caller.account } as const;
      const decision = authority.check({ principal, ...need });
      if (!decision.allowed) {
        const problem = `${caller.name} may not ${need.action} on ${need.resource}: ${decision.why}.`;
        return refuse(service, "AccessDeniedException", problem);
      }
    }
    calls.push({ action, resources, context, caller: caller.name, kind: caller.kind });
    const text = Buffer.from(body).toString("utf8");
    for (const fault of faults) {
      const response = fault({ call, caller, text });
      if (response !== undefined) return response;
    }
    const backend = backends[service];
    if (backend === undefined)
      throw new Error(`The rehearsal has nobody who answers for ${service}.`);
    const response = await backend({ call, received: httpCall, caller });
    // An emulator may not have the time of the rehearsal, and clients set their clocks by this header.
    const headers = new Headers(response.headers);
    headers.delete("date");
    return new Response(response.body, { status: response.status, headers });
  }

  function refuse(service: string, name: string, problem: string): Response {
    onProblem(problem);
    return awsFailure({ service, name, message: problem });
  }

  const server = await startWebServer({ handle });
  return {
    ...server,
    calls,
    faults,
    register: (caller) => void callers.set(caller.credentials.accessKeyId, caller),
  };
}

type SignedBy = { accessKeyId: string; region: string; service: string; isPresigned: boolean };

/** Returns who signed a request and for what, by its header or by the query of a presigned URL. All texts are empty if nobody signed. */
export function signedBy({ request, target }: Received): SignedBy {
  const [, header = ""] =
    /Credential=([^,]+)/.exec(request.headers.get("authorization") ?? "") ?? [];
  const presigned = new URL(target, "http://aws").searchParams.get("X-Amz-Credential");
  const [accessKeyId = "", , region = "", service = ""] = (presigned ?? header).split("/");
  return { accessKeyId, region, service, isPresigned: presigned !== null };
}

/** Checks a signature. A request is not stale if it was signed, or arrived, before the clock moved. */
export function sigv4ProblemAt({
  arrivedMs,
  ...request
}: Omit<Parameters<typeof sigv4Problem>[0], "nowMs"> & { arrivedMs: number }): string | undefined {
  const times = [Date.now(), arrivedMs, ...clock.timesBeforeMoves()];
  let problem: string | undefined;
  for (const nowMs of times) {
    problem = sigv4Problem({ ...request, nowMs });
    if (problem !== "stale") return problem;
  }
  return problem;
}
