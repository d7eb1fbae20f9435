/** Whether a link's label is the address of something else than where the link leads. Pure. */

const withScheme = /(?:https?:\/\/|www\.)[^\s]+/i;
const bareHost = /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d+)?(?:\/\S*)?$/u;
/** `README.md` is a file before it is a host of Moldova. */
const fileName =
  /\.(?:c|cc|cpp|cs|css|csv|docx?|go|h|html?|java|jpe?g|js|json|jsx|lock|log|md|mjs|pdf|php|png|pptx?|py|rb|rs|sh|sql|svg|tf|toml|ts|tsx|txt|xlsx?|xml|ya?ml|zip)$/i;

export function tellsAnotherAddress({ label, address }: { label: string; address: string }): boolean {
  const said = addressIn(label);
  if (said === undefined) return false;
  const [toldUrl, realUrl] = [URL.parse(said), URL.parse(address)];
  if (toldUrl === null || realUrl === null) return true;
  return hostOf(toldUrl) !== hostOf(realUrl) || !realUrl.pathname.startsWith(toldUrl.pathname.replace(/[./…]+$/, ""));
}

function addressIn(label: string): string | undefined {
  const plain = label
    .normalize("NFKC")
    .replace(/[*_~`\\\p{Cf}]/gu, "")
    .trim();
  const found = withScheme.exec(plain)?.[0] ?? (bareHost.test(plain) && !fileName.test(plain) ? plain : undefined);
  if (found === undefined) return undefined;
  return /^https?:/i.test(found) ? found : `https://${found}`;
}

function hostOf({ host }: URL): string {
  return host.replace(/^www\./, "");
}
