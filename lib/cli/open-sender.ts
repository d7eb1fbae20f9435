/** Opens a destination of the configuration for the conformance run, with its credentials and with those of strangers. */

import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import { createAuthorizer } from "@sekisho/config/authorizers.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import {
  type Authorize,
  createHttpSender,
  SendError,
  type Sender,
} from "@sekisho/conformance/sender.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { openDestination } from "@sekisho/local/open-destination.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { credentialText } from "@sekisho/verification/checks/failed-check.ts";

type SenderOptions = {
  config: Config;
  destination: Destination;
  name: string;
  directory: string;
  executionPort: number;
  log: Log;
  /** The authorizer of a second caller. */
  another?: AuthorizerConfig | undefined;
};

export async function openSender(options: SenderOptions): Promise<Sender> {
  const { destination, another, executionPort } = options;
  if (destination.transport !== "https") return openTransport(options);
  const { url: address = `http://127.0.0.1:${executionPort}/`, authorizer } = destination;
  const url = new URL(address);
  const isMtls = authorizer.type === "mtls";
  return createHttpSender({
    url,
    authorize: authorizer.type === "none" ? undefined : createAuthorize({ authorizer, address }),
    authorizeAnother: another && createAuthorize({ authorizer: another, address }),
    whyNoStrangers: isMtls
      ? "without a client certificate there is no connection, so there is no answer to check"
      : undefined,
    isLocal: isLoopbackHost(url.hostname),
  });
}

function createAuthorize({
  authorizer,
  address,
}: {
  authorizer: AuthorizerConfig;
  address: string;
}): Authorize {
  const region = readEnvironment().awsRegion;
  const credentials = defaultAwsCredentials();
  const { authorize } = createAuthorizer({
    authorizer,
    url: address,
    readSecret,
    credentials,
    region,
  });
  return async (request) => {
    try {
      const { headers, tls } = await authorize(request);
      return { headers, certificate: tls };
    } catch (error) {
      throw toCredentialError(error, authorizer.type);
    }
  };
}

function toCredentialError(error: unknown, type: string): SendError {
  const text = credentialText({ error: SekishoError.from(error), authorizer: type });
  return new SendError("no_credential", text ?? "The given credential cannot be sent. See --auth.");
}

const texts: Partial<Record<SekishoError["reason"], string>> = {
  unavailable: "no connection to it",
  ambiguous: "the connection broke before the answer was there",
  invalid_response: "an answer that the Verification zone refuses",
  payload_too_large: "an answer larger than the Verification zone reads",
};

/** The other transports authenticate callers by themselves, and show neither headers nor other callers. */
async function openTransport(options: SenderOptions): Promise<Sender> {
  const { transport, close } = await openDestination(options);
  const { destination } = options;
  return {
    callers: new Set(),
    whyNot: `the transport ${destination.transport} authenticates callers by itself`,
    isLocal: false,
    isHttp: false,
    secrets: () => [],
    sentTokens: () => [],
    close,
    async send({ body, sessionId, trace, signal }) {
      try {
        const { traceparent = "", tracestate } = trace;
        const response = await transport.send({
          body,
          sessionId,
          signal,
          trace: { traceparent, tracestate },
        });
        return { status: response.status, headers: undefined, body: response.body };
      } catch (cause) {
        const error = SekishoError.from(cause);
        const text = credentialText({ error, authorizer: "sigv4" });
        if (text !== undefined) throw new SendError("no_credential", text);
        const kind = error.reason === "unavailable" ? "no_connection" : "broken";
        throw new SendError(kind, texts[error.reason] ?? `no answer (${error.reason})`);
      }
    },
  };
}
