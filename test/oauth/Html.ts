const attribute = (tag: string, name: string) => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return value
    ?.replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
}

/** The hidden fields of a form, and its choices as [value, whether it is selected]. */
export const sectionsOf = (html: string, action: string) => {
  const form = [...html.matchAll(/<form[\s\S]*?<\/form>/g)]
    .map(([text]) => text)
    .find((text) => attribute(text, "action") === action)
  if (form === undefined) throw new Error(`no form for ${action}: ${html}`)
  const inputs = [...form.matchAll(/<input(?:[^>"]|"[^"]*")*>/g)].map(([tag]) => tag)
  const ofType = (type: string) => inputs.filter((tag) => attribute(tag, "type") === type)
  return {
    hidden: Object.fromEntries(
      ofType("hidden").map((tag) => [attribute(tag, "name") ?? "", attribute(tag, "value") ?? ""])
    ),
    choices: ofType("radio").map((tag) => [attribute(tag, "value") ?? "", /\schecked[\s/>]/.test(tag)] as const)
  }
}
