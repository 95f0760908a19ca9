/**
 * Values of metafields by type: as they were sent to Shopify, and as Shopify's Admin API returned them, with units in capitals, numbers
 * with a decimal point, members in another order and times with an offset.
 */
export const shopifyMetafields: ReadonlyArray<readonly [type: string, sent: string, returned: string]> = [
  ["boolean", "true", "true"],
  ["color", "#fff123", "#fff123"],
  ["date", "2022-02-02", "2022-02-02"],
  ["date_time", "2024-01-01T12:30:00", "2024-01-01T12:30:00+00:00"],
  ["language", "en", "en"],
  ["link", '{"text":"Sizes","url":"https://shop.example"}', '{"text":"Sizes","url":"https://shop.example"}'],
  ["money", '{"amount":"5.99","currency_code":"CAD"}', '{"amount":"5.99","currency_code":"CAD"}'],
  [
    "rating",
    '{"value":"3.5","scale_min":"1.0","scale_max":"5.0"}',
    '{"scale_min":"1.0","scale_max":"5.0","value":"3.5"}'
  ],
  ["dimension", '{"value":25,"unit":"centimeters"}', '{"value":25.0,"unit":"CENTIMETERS"}'],
  ["weight", '{"value":2.5,"unit":"kilograms"}', '{"value":2.5,"unit":"KILOGRAMS"}'],
  ["volume", '{"value":20,"unit":"milliliters"}', '{"value":20.0,"unit":"MILLILITERS"}'],
  ["temperature", '{"value":22.5,"unit":"celsius"}', '{"value":22.5,"unit":"CELSIUS"}'],
  ["duration", '{"value":30,"unit":"seconds"}', '{"value":30.0,"unit":"SECONDS"}'],
  ["list.color", '["#fff123"]', '["#fff123"]'],
  ["list.date_time", '["2024-01-01T12:30:00"]', '["2024-01-01T12:30:00+00:00"]'],
  ["list.dimension", '[{"value":25,"unit":"centimeters"}]', '[{"value":25.0,"unit":"CENTIMETERS"}]'],
  ["list.link", '[{"text":"A","url":"https://a.example"}]', '[{"text":"A","url":"https://a.example"}]'],
  ["list.number_decimal", "[10.4]", '["10.4"]'],
  ["list.number_integer", "[10]", "[10]"],
  [
    "list.rating",
    '[{"value":"3.5","scale_min":"1.0","scale_max":"5.0"}]',
    '[{"scale_min":"1.0","scale_max":"5.0","value":"3.5"}]'
  ],
  ["list.speed", '[{"value":60,"unit":"kilometers_per_hour"}]', '[{"value":60.0,"unit":"KILOMETERS_PER_HOUR"}]'],
  ["list.weight", '[{"value":2.5,"unit":"kilograms"}]', '[{"value":2.5,"unit":"KILOGRAMS"}]']
]
