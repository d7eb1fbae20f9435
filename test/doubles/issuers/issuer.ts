/** An issuer's server. It keeps all requests, and a test can replace its answers. */
import { type Received, startWebServer } from "../web-server.ts";

export type Asked = {
  target: string;
  headers: Headers;
  form: Record<string, string>;
  text: string;
};
export type Answer = (tokenRequest: Asked) => Response | Promise<Response>;
export type Issuer = {
  url: URL;
  asked: Asked[];
  /** If set, it may answer instead of the issuer. */
  instead: Answer | undefined;
  close(): Promise<void>;
};

/** `answer` is the issuer's own. */
export async function startIssuer({
  answer,
}: {
  answer: (tokenRequest: Asked, call: Received) => Response | Promise<Response>;
}): Promise<Issuer> {
  const server = await startWebServer({
    async handle(call) {
      const text = Buffer.from(call.body).toString();
      const isForm = call.request.headers
        .get("content-type")
        ?.startsWith("application/x-www-form-urlencoded");
      const form = isForm ? Object.fromEntries(new URLSearchParams(text)) : {};
      const tokenRequest = { target: call.target, headers: call.request.headers, form, text };
      issuer.asked.push(tokenRequest);
      return issuer.instead?.(tokenRequest) ?? answer(tokenRequest, call);
    },
  });
  const issuer: Issuer = {
    url: new URL(server.url),
    asked: [],
    instead: undefined,
    close: server.close,
  };
  return issuer;
}

/** RFC 6749, section 5.2. */
export function oauthError(error: string, status = 400): Response {
  return Response.json({ error, error_description: "words that nobody should repeat" }, { status });
}

/** The id and the secret of a client. Each half is form-encoded (RFC 6749, section 2.3.1). */
export function decodeBasic(header: string): string[] {
  const [, encoded = ""] = /^Basic ([A-Za-z0-9+/=]+)$/.exec(header) ?? [];
  const halves = Buffer.from(encoded, "base64").toString().split(":");
  return halves.map((half) => decodeURIComponent(half.replaceAll("+", " ")));
}
