/** A browser that installs the app: it keeps cookies as browsers do, and goes where it is sent. */
import type { Oauth } from "@sekisho/verification/oauth/oauth.ts";

export type Page = { status: number; text: string; headers: Headers };

export function createBrowser({ oauth, language = "en" }: { oauth: Oauth; language?: string }) {
  const cookies = new Map<string, string>();

  async function get(path: string): Promise<Page> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { "accept-language": language, ...(cookie === "" ? {} : { cookie }) };
    const response = await oauth(new Request(new URL(path, "http://localhost/"), { headers }));
    for (const line of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
      const [name = "", value = ""] = pair.split("=");
      if (attributes.includes("Max-Age=0")) cookies.delete(name);
      else cookies.set(name, value);
    }
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  return {
    cookies,
    get,
    /** Where Slack is asked, and with which state. */
    async begin(): Promise<{ authorize: URL; state: string; page: Page }> {
      const page = await get("/slack/install");
      const authorize = new URL(page.headers.get("location") ?? "about:blank");
      return { authorize, state: authorize.searchParams.get("state") ?? "", page };
    },
    back(query: Record<string, string>): Promise<Page> {
      return get(`/slack/oauth_redirect?${new URLSearchParams(query)}`);
    },
  };
}
