# schema/local.mk
