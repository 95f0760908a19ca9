import { type ComponentProps, type ComponentType, createElement } from "preact"
import { islands } from "./islands/Islands.ts"
import { messageIn } from "./languages/Words.tsx"
import { useWords } from "./Viewer.tsx"

type Islands = typeof islands

/**
 * A component that the browser takes over (`assets/islands.ts`). The page has its HTML, its props as JSON and the sentences that it says.
 */
export const Island = <Name extends keyof Islands>({
  name,
  ...props
}: { readonly name: Name } & Omit<ComponentProps<Islands[Name]["Component"]>, "t" | "state">) => {
  const t = useWords()
  const { Component, sentences } = islands[name]
  const messages = Object.fromEntries(sentences.map((sentence) => [sentence, messageIn(t.language, sentence)]))
  const allProps: object = { ...props, t }
  return (
    <div data-island={name} data-props={JSON.stringify(props)} data-messages={JSON.stringify(messages)}>
      {createElement(Component as ComponentType<object>, allProps)}
    </div>
  )
}
