import type { StoreName } from "./DemoProducts.ts"

type Local = readonly [gulf: string, china: string]

/** What products are called in the stores that speak another language, by handle; "": as everywhere else. */
const localTitles: Readonly<Record<string, Local>> = {
  "kestrel-20": ["حقيبة ظهر كستريل ٢٠", "红隼 20 日用背包"],
  "kestrel-28": ["حقيبة ظهر كستريل ٢٨", "红隼 28 日用背包"],
  "curlew-45": ["حقيبة الرحلات كورلو ٤٥", "杓鹬 45 徒步背包"],
  "plover-sling": ["حقيبة كتف بلوفر", "鸻鸟斜挎包"],
  "wader-roll-top": ["", "涉禽防水卷口包"],
  "ferry-duffel": ["حقيبة سفر العبّارة", "渡轮旅行袋"],
  "bothy-1": ["", "山屋单人帐篷"],
  "bothy-2": ["", "山屋双人帐篷"],
  "sandgrouse-shade": ["مظلة القطا", "沙鸡遮阳篷"],
  "drift-minus-5": ["كيس نوم للشتاء", "漂雪睡袋 −5℃"],
  "eddy-hammock": ["أرجوحة إيدي", "漩涡吊床"],
  "squall-shell": ["", "疾风硬壳冲锋衣"],
  "petrichor-poncho": ["", "雨后泥香斗篷 ☔"],
  "keel-jumper": ["", "龙骨羊毛衫"],
  "longshore-socks": ["جوارب صوفية طويلة", "长滩羊毛袜"],
  "gannet-beanie": ["قبعة صوفية", "鲣鸟毛线帽"],
  "dune-scarf": ["وشاح الكثبان", "沙丘围巾"],
  "ember-stove": ["موقد الجمر 🔥", "余烬柴火炉 🔥"],
  "billy-kettle": ["إبريق الرحلات", "野营水壶 1.2 升"],
  "campfire-mug": ["كوب المخيّم 🏕️", "篝火搪瓷杯 🏕️"],
  "thaw-flask": ["ترمس الدفء", "融雪保温瓶"],
  "oasis-canteen": ["مطرة الواحة", "绿洲水壶"],
  "wick-lantern": ["فانوس", "灯芯提灯"],
  "supper-plate": ["طبق العشاء", "晚餐盘"],
  "morning-mug": ["كوب الصباح", "晨光马克杯"],
  "hearth-blanket": ["بطانية الموقد", "炉边毛毯"],
  "orange-grove-candle": ["شمعة بستان البرتقال 🍊", "橙园香薰蜡烛 🍊"],
  "field-notebook": ["", "田野笔记本"]
}

/** Longer texts in the language of a store, by handle. */
const localTexts: Readonly<Record<string, Local>> = {
  "kestrel-20": ["تتسع للماء والصوف والغداء، وغطاؤها لا تفتحه الريح.", "装得下水、毛衣和午餐,盖子风吹不开。"],
  "curlew-45": ["خمسة أيام من كوخ إلى كوخ.", "五天的山屋之路,重量都在胯上。"],
  "sandgrouse-shade": ["ظلّ وقت الظهيرة ونسيم يمرّ من تحته.", "正午有荫,微风可入。"],
  "ember-stove": ["يغلي الإبريق بحفنة من الأغصان.", "一把枯枝,一壶开水。"],
  "oasis-canteen": ["بلّل اللباد يبرد الماء.", "打湿毛毡,水就凉了。"],
  "morning-mug": ["مقبض لثلاث أصابع وإبهام.", "三指一拇,刚好握住清晨。"]
}

/** What the house calls itself where its Latin name is not read, by handle of the products that say so. */
const localVendors: Readonly<Record<string, Local>> = {
  "kestrel-20": ["تارن وتيرن", "山湖与燕鸥"],
  "curlew-45": ["تارن وتيرن", "山湖与燕鸥"],
  "sandgrouse-shade": ["تارن وتيرن", ""],
  "squall-shell": ["", "山湖与燕鸥"]
}

/** What a store says differently about a product from its start; null: nothing. */
export const localValues = (handle: string, store: StoreName) => {
  const said = (texts: Readonly<Record<string, Local>>) =>
    (store === "europe" ? "" : texts[handle]?.[store === "gulf" ? 0 : 1]) || null
  const text = said(localTexts)
  return {
    title: said(localTitles),
    vendor: said(localVendors),
    description_html: text === null ? null : `<p>${text}</p>`
  }
}
