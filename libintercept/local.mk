# libintercept/local.mk
